// How many threads a step needs that waits for memory: from some number on, the knee, more read no
// faster.
#pragma once

#include <cstdint>

namespace inf {

/// What two numbers of threads took beside each other, in seconds a step.
struct ThreadComparison {
  unsigned fewer = 0, more = 0; ///< threads; 0: nothing was compared
  double fewerSeconds = 0, moreSeconds = 0;
};

/// Finds the knee of one kind of step while steps run: the fewest threads with which a step takes
/// at most 1 % longer than with all; they are left when it takes 2 % longer. It says with how many
/// threads the next step runs, and is told what that took. No clock, no thread, no allocation.
///
///   threads  64 64 64 64  48 48 48 48  64 64 64 64  48 48 48 48  …      a trial of 48
///            \_________ pair ________/
///
/// A trial holds a candidate against a reference (the fastest number known, at first all), in
/// blocks of steps in turns, so that a noisy neighbour or a change of the memory's speed meets
/// both. Of a block the least time counts, of a pair only which was faster: one late step decides
/// nothing. The pairs are a walk with two ends, accepted and given up.
///
///   0 …… tooFew < candidate < best ≤ all       accepted: best = candidate
///                                              given up: tooFew = candidate
///
/// until the two are neighbours (within a twelfth). Then it rests, ever longer, and looks again in
/// turns whether `best` still does and whether fewer would.
class KneeSearch {
public:
  /// \param threads all that there are, > 0; with one there is nothing to search.
  explicit KneeSearch(unsigned threads) : all(threads), best(threads), fastest(threads) {}

  /// For the next step: 1 .. all.
  unsigned next() const;

  /// A step of next() threads took so long. \param bytes that it read: steps are compared only when
  /// they read about as much. A step of another number of threads is ignored.
  void ran(unsigned threads, uint64_t bytes, double seconds);

  unsigned settled() const { return best; } ///< the fewest known to be enough
  uint64_t steps() const { return stepsRan; }
  /// Why `settled()`: it against more threads, or, when it is all, against the fewer that were
  /// given up last.
  ThreadComparison comparison() const;
  /// What trials took beyond what their steps would have taken without, by their own measurement.
  double trialSeconds() const { return spent; }
  double seconds() const { return total; } ///< of all steps

private:
  enum class Block : uint8_t { Rest, Reference, Candidate };
  enum class Verdict : uint8_t { Open, Accepted, GivenUp };

  struct Trial {
    unsigned reference = 0, candidate = 0;
    int score = 0;
    unsigned pairs = 0;
    double referenceSeconds = 0, candidateSeconds = 0; ///< least of each block, summed
  };

  void beginTrial();
  void look();
  unsigned between() const;
  bool affordable() const;
  void beginPair(uint64_t bytes);
  void takeStep(double seconds);
  void endBlock();
  void endPair();
  void abandonPair();
  Verdict judge(double ratio);
  void accept();
  void giveUp();
  void rest();
  double excess() const;

  unsigned all, best, fastest, tooFew = 0;
  Block block = Block::Rest;
  Trial trial;               ///< candidate 0: none
  unsigned restLeft = 64;    ///< steps
  unsigned interval = 0;     ///< steps of the last long rest; 0: something has changed
  unsigned looks = 0;        ///< after the search
  unsigned blockSteps = 0;   ///< so far
  double first = 0;          ///< of this block's steps
  double least = 0;          ///< of its others
  double blockSeconds = 0;   ///< of all its steps
  double leastReference = 0; ///< of the pair's first block
  uint64_t pairBytes = 0;
  uint64_t stepsRan = 0;
  double total = 0, spent = 0;
  ThreadComparison enough, givenUp;
};

} // namespace inf
