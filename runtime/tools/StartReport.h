// Where the time until the first token went, and what the memory is for: lines of --verbose.
#pragma once

#include <chrono>
#include <string>

#include "runtime/session/Generator.h"

namespace inf {

/// A clock that starts when it is made, first thing in a command, and takes the times of what
/// follows, in this order.
class StartReport {
public:
  /// Now the model is loaded.
  void loaded();
  /// Now the session begins to be made.
  void sessionBegins();
  /// Now it is made, and generates next.
  void sessionMade();

  /// "first token after 12.3 ms: verify 0.4, tokenizer 3.1, map 0.2, session 0.5, prefill 6.1,
  /// other 2.0", in ms; before them "compile 2310.0" where the model was compiled on the way, or
  /// found among those that were. The parts follow each other, so they sum to the whole, which
  /// `other` completes: options, topology, the prompt's ids.
  std::string timesText(const Model &model, const GenerateResult &result, bool compiles) const;

private:
  using Clock = std::chrono::steady_clock;

  double sinceLast();

  Clock::time_point last = Clock::now();
  double loadSeconds = 0, otherSeconds = 0, sessionSeconds = 0;
};

/// "map 0.2", or of copied weights "copy 812.0 (1.33 GB/s)": ms, and their bytes over that time.
std::string mapText(const Model &model);

/// "address space 58.4 MB: program 34.2, weights 9.9, keys and values 12.0, step 2.3", in MB: what
/// `ulimit -v` has to allow, all of it taken when the session was made. `program` is all else: its
/// code and libraries, the model's code and tokenizer, the stacks of the threads.
std::string memoryText(const Session &session);

} // namespace inf
