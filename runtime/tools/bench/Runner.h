// The measurements themselves: prefill and decode on one session, with the roof between the runs.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "runtime/roof/Roof.h"
#include "runtime/session/Session.h"
#include "runtime/tools/bench/BenchOptions.h"
#include "runtime/tools/bench/ExpertCounter.h"
#include "runtime/tools/bench/ModelWork.h"
#include "runtime/tools/bench/StageTimer.h"

namespace inf {

enum class RunKind { Prefill, Decode };

/// One measurement, repeated.
struct BenchRun {
  RunKind kind = RunKind::Prefill;
  uint64_t tokens = 0;         ///< of a sequence, in one repeat
  uint64_t context = 0;        ///< tokens that a sequence held before the first repeat
  uint64_t batch = 1;          ///< sequences decoded together
  std::vector<double> seconds; ///< [repeat]
  std::vector<uint64_t> bytes; ///< [repeat]
  /// [repeat] the better of the samples before and after it; empty: not sampled. On a shared
  /// machine the limit of one moment is not that of another.
  std::vector<RoofRates> roof;
  bool bytesExact = true;       ///< false: an upper bound (ModelWork.h)
  std::optional<uint64_t> macs; ///< of a repeat
  uint64_t hash = 0;            ///< of the last step's logits
  StageSums stages;             ///< of the repeats' steps, with a timer

  double tokensPerSecond() const; ///< medians over the repeats; all sequences together
  double bytesPerSecond() const;
  std::optional<double> operationsPerSecond() const; ///< 2 per multiply-accumulate
  /// Medians over the repeats of each one's rate over that of `roof`; nullopt: not sampled, no such
  /// loop, or macs are not known.
  std::optional<double> bandwidthFraction() const;
  std::optional<double> operationsFraction(DotKind product) const;
};

/// Tokens are of a fixed seed, so that two runs compute the same. Where several rows choose experts
/// one more repeat, not timed, counts them; the others are taken to read as many.
class Runner {
public:
  /// \param roof sampled before each repeat and after the last; null: not.
  /// \param timer wraps each counted step; null: not. The session must have its hook.
  Runner(Session &session, const BenchOptions &options, Roof *roof, StageTimer *timer);

  BenchRun prefill(uint64_t tokens);
  /// `batch` sequences behind each context, one row each in a step; the contexts take turns, token
  /// by token, so that what else happens on the machine meets all of them alike. The session has
  /// contexts.size() * batch sequences. One run a context.
  std::vector<BenchRun> decode(std::span<const uint64_t> contexts, uint64_t batch);

private:
  /// Of the repeat that is going on.
  struct Tally {
    double seconds = 0;
    uint64_t bytes = 0;
    uint64_t unread = 0; ///< of the bound, when experts are counted
    std::optional<uint64_t> macs = 0;
    bool bytesExact = true;
    uint64_t hash = 0;
  };
  /// One of the runs that take turns.
  struct Lane {
    BenchRun run;
    uint64_t firstSequence = 0;
    Tally tally;
  };

  void fill(Lane &lane, uint64_t context);
  /// A sequence anew: as many rows a step as the plan holds; only the last wants logits.
  void runPrompt(Lane &lane, uint64_t sequence, uint64_t text, uint64_t tokens);
  void decodeSteps(std::vector<Lane> &lanes, uint64_t steps);
  void decodeStep(Lane &lane);
  void step(Lane &lane, std::span<const RowRequest> rows, uint64_t bytesOfKv);
  void sampleRoof(std::vector<Lane> &lanes);
  /// options.repeat times: what isn't timed, a sample of the roof, what is.
  void repeat(std::vector<Lane> &lanes, const std::function<void()> &prepare,
              const std::function<void()> &measured);
  void countExperts(std::vector<Lane> &lanes, const std::function<void()> &prepare,
                    const std::function<void()> &measured);
  /// Sequences of a lane have texts 0, 1, ... (BenchOptions::sameText: all that of 0): what a lane
  /// computes is the same whoever else runs.
  int32_t tokenAt(uint64_t text, uint64_t position) const;

  Session &session;
  const BenchOptions &options;
  Roof *roof;
  StageTimer *timer;
  const ModelWork work;
  std::optional<ExpertCounter> experts;
  bool counting = false; ///< experts has the session's hook
  std::vector<int32_t> ids;
  std::vector<RowRequest> rows;
};

} // namespace inf
