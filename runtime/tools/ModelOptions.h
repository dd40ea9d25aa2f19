// What every command that runs a model has in common: the file, the threads, the context.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "runtime/session/Session.h"
#include "runtime/tools/Arguments.h"
#include "runtime/tools/CompileFlags.h"

namespace inf {

struct ModelOptions {
  std::string path;
  std::optional<unsigned> threads; ///< nullopt: chosen from cores and limits (runtime/cpu)
  std::string load = "auto";       ///< how weights come into memory: auto, map, copy
  std::string numa = "auto";       ///< copied weights on their readers' node: auto, off, report
  bool verbose = false;            ///< say which threads and why, and how weights were loaded
  CompileFlags compile = {};       ///< for a model that is not compiled yet

  /// For SessionOptions: a number that was given is meant.
  bool threadsFollowMemory() const { return !threads; }
};

/// The model's path, --threads and --verbose.
void addModelOptions(CLI::App &app, ModelOptions &options);

/// --load and --numa.
void addLoadOption(CLI::App &app, ModelOptions &options);

/// planThreads, with its warnings (and with --verbose its reason) on standard error.
ThreadPlan chooseThreads(std::optional<unsigned> requested, bool verbose);

/// The model, its weights (unless --numa=off: on the NUMA node of the threads of the plan that use
/// them) read by the threads of the plan where they are copied; progress is shown
/// on a terminal.
/// `runsForLong`: for chooseLoad().
std::shared_ptr<const Model> loadModel(const ModelOptions &options, const ThreadPlan &plan,
                                       bool runsForLong = false);

/// A session of one sequence with `context` tokens. `wanted`: all else.
std::unique_ptr<Session> makeSession(std::shared_ptr<const Model> model, uint64_t context,
                                     const ThreadPlan &plan, SessionOptions wanted = {});

/// `wanted` or the model's largest context, whichever is smaller.
uint32_t cappedContext(const Model &model, uint64_t wanted);

/// "1.25 GB" of the peak resident memory of this process, "unknown" when the OS doesn't say.
std::string peakMemoryText();

} // namespace inf
