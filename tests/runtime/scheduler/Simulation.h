// A scheduler in virtual time: requests come, are cancelled and expire at random, steps take the
// time that a made-up machine needs, and every rule that must hold is checked after each step.
#pragma once

#include <map>
#include <random>
#include <string>
#include <vector>

#include "runtime/scheduler/Scheduler.h"

namespace inf::test {

struct SimulationSetup {
  uint32_t sequences = 4, context = 96, stepTokens = 16, requests = 12;
  uint64_t kvBytes = 0; ///< 0: enough for all
  bool prefixes = true;
  double arrivalsPerStep = 0.3;
  double ageSeconds = 0.5;
};

class Simulation {
public:
  Simulation(const SimulationSetup &simulationSetup, uint64_t seed);
  /// The first rule that broke; empty: none did.
  std::string run(uint64_t steps);
  /// No more arrivals: everything must end, and nothing may be left behind.
  std::string drain();

  uint64_t finished = 0, cachedTokens = 0;
  uint64_t preemptions() const { return scheduler.counts().preemptions; }

private:
  struct Life {
    std::vector<int32_t> tokens; ///< prompt and answer
    uint32_t prompt = 0;
    RequestPriority priority = RequestPriority::Normal;
    double since = 0;
    bool promptOutputs = false;
    uint32_t outputsSeen = 0;
    bool started = false;
    double rank = 0;
    uint64_t idleSteps = 0; ///< while it is first in rank
  };

  void arrive();
  void cancelSome();
  void expireSome();
  std::string step();
  std::string check(const StepPlan &plan);
  std::string checkPart(const StepPlan &plan, const PlannedPart &part, size_t row);
  std::string checkOrder(const StepPlan &plan);
  std::string compute(const StepPlan &plan);
  std::string checkMemory() const;
  void end(uint64_t id);
  uint32_t below(uint32_t n) { return static_cast<uint32_t>(random() % n); }

  SimulationSetup setup;
  std::mt19937_64 random;
  std::vector<inf_kv_group> groups;
  KvCache kv;
  Scheduler scheduler;
  std::map<uint64_t, Life> lives;
  uint64_t nextId = 1;
  double now = 0;
};

} // namespace inf::test
