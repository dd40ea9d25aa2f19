// Runs a model for many requests at once: one thread that takes requests, asks the scheduler for
// the next step, runs it, samples, and gives tokens to their sinks.
//
//   submit, cancel, drain          the engine's thread                    the session's threads
//   any thread -------- Mailbox --> Scheduler -> StepRunner::run -------> compute
//                                   Sampler, sinks <- logits
//
// A request's tokens are those of its solo run, to the bit of the logits, whoever runs beside it
// and however often it is preempted. An exception in a step ends the requests of that step, one in
// a sink or sampler ends its request; the engine goes on. Without requests its thread sleeps.
#pragma once

#include <memory>
#include <optional>

#include "runtime/engine/CompletionService.h"
#include "runtime/engine/EngineOptions.h"
#include "runtime/engine/StepRunner.h"
#include "runtime/loader/Model.h"

namespace inf {

class Engine : public CompletionService {
public:
  /// Fails as Session does, with Usage for more sequences than a step has rows for, with Machine
  /// when there is no memory.
  Engine(std::shared_ptr<const Model> model, const EngineOptions &options);
  /// `makeRunner` is called on the engine's thread; what it throws is thrown here. Of the options,
  /// those of the session are its own affair.
  Engine(const MakeRunner &makeRunner, const EngineOptions &options);
  /// Cancels what is left.
  ~Engine() override;

  std::vector<uint64_t> submitAll(std::vector<CompletionJob> jobs) override;
  void cancel(uint64_t request) override;
  void drain(std::chrono::milliseconds grace) override;
  ServiceLimits limits() const override;
  ServiceMetrics metrics() const override;
  /// Session::decodeThreads(), after the latest step.
  std::optional<StepThreadsReport> decodeThreads() const;

private:
  struct State;
  std::unique_ptr<State> state;
};

} // namespace inf
