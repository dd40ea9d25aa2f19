// The engine's thread: everything in here belongs to it.
#pragma once

#include <deque>
#include <map>
#include <optional>

#include "runtime/engine/CompletionService.h"
#include "runtime/engine/EngineClock.h"
#include "runtime/engine/EngineMetrics.h"
#include "runtime/engine/EngineOptions.h"
#include "runtime/engine/Mailbox.h"
#include "runtime/engine/StepRunner.h"
#include "runtime/sampler/Sampler.h"
#include "runtime/scheduler/Scheduler.h"

namespace inf {

class EngineLoop {
public:
  /// The runner and the rest must outlive this object.
  EngineLoop(StepRunner &stepRunner, const EngineOptions &options, const EngineClock &engineClock,
             Mailbox &requestMailbox, EngineMetrics &engineMetrics);
  /// Until Mailbox::stop().
  void run();
  uint32_t capacity() const { return scheduler.capacity(); }

private:
  struct Active {
    CompletionRequest request;
    std::shared_ptr<CompletionSink> sink;
    std::optional<Sampler> sampler; ///< from the first token on: it is large
    std::deque<int32_t> forced;
    double submitted = 0, firstToken = 0, lastToken = 0;
  };

  bool handleMail();
  void begin(Submission submission);
  void endAll(CompletionEnd why, const std::string &error);
  void expire();
  void step();
  bool runPlanned(const StepPlan &plan);
  void deliver(const PlannedPart &part, uint32_t firstOutput);
  void takeLogits(uint64_t id, Active &active, uint32_t position, std::span<const float> logits);
  void reportPrompt(Active &active, uint32_t position, std::span<const float> logits);
  void nextToken(uint64_t id, Active &active, std::span<const float> logits);
  Sampler &samplerOf(Active &active);
  int32_t choose(Active &active, std::span<const float> logits, bool forced);
  bool isStop(const Active &active, int32_t token) const;
  void tell(uint64_t id, Active &active, const TokenEvent &event);
  void end(uint64_t id, CompletionEnd why, const std::string &error = {});
  void publish(bool ran);

  StepRunner &runner;
  const RunnerFacts facts;
  const EngineClock &clock;
  Mailbox &mailbox;
  EngineMetrics &metrics;
  Scheduler scheduler;
  std::map<uint64_t, Active> actives;
};

} // namespace inf
