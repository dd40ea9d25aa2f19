// Where the time of a step goes: the clock at each barrier, as thread 0 sees it.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/loader/Model.h"
#include "runtime/session/Session.h"

namespace inf {

/// Sums over steps, of one place in the order of barriers.
struct StageTime {
  double seconds = 0;     ///< of thread 0 from the barrier before to its arrival at this one
  double waitSeconds = 0; ///< of thread 0 in the barrier behind the stage
};

/// What the steps of one measurement add up to.
struct StageSums {
  /// \param stages most that a step can have: room is taken here, since a step allocates nothing.
  ///   What lies beyond is added to the last.
  explicit StageSums(size_t stages = 1 << 14) : sums(stages == 0 ? 1 : stages) {}

  /// [stages of the longest step]
  std::vector<StageTime> times() const;
  void clear();

  std::vector<StageTime> sums;
  size_t used = 0; ///< stages of the longest step
  uint64_t steps = 0;
};

/// Stamps for a session of its own: with the hook set every barrier reads the clock twice.
class StageTimer {
public:
  BarrierHook hook();

  /// Around each step, which counts for `sums`. The first stage then has the runtime's part before
  /// the compiled code, the last (which ends with the step, not with a barrier) the part behind it.
  void begin(StageSums &sums);
  void end();

private:
  using Clock = std::chrono::steady_clock;

  void arrive();
  void leave();

  StageSums nobody{1};
  StageSums *into = &nobody; ///< where the step that goes on counts
  size_t at = 0;
  Clock::time_point last;
};

/// A line of the table: one stage, or all layers' stages of one name.
struct StageRow {
  std::string name; ///< "stage 12", or the compiler's
  uint64_t stages = 0;
  double callsPerToken = 0, seconds = 0, waitSeconds = 0;
  double share = 0; ///< of the time of all stages and waits
};

/// Rows in the order of the barriers. \throws Error BadInput when `names` is neither empty nor of
/// the same length as `sums.times()`.
std::vector<StageRow> stageRows(const StageSums &sums, const std::vector<Stage> &names,
                                uint64_t tokens);

} // namespace inf
