#include "runtime/threads/KneeSearch.h"

#include <algorithm>
#include <cmath>

namespace inf {
namespace {

// Of a block the first step pays for the change (threads that were left out wake up, caches of the
// others are cold) and doesn't count. The least of the other three drops two late ones.
constexpr unsigned stepsOfBlock = 4;
// Fewer threads may cost so much and are still preferred: less than a user sees, and more than the
// pairs can tell apart within seconds.
constexpr double nearEnough = 1.01;
// What was accepted is kept a little longer, or a number at the very edge would come and go, and
// the search begin anew each time.
constexpr double stillEnough = 1.02;
constexpr double clearlySlower = 1.05; // counts twice: beyond the noise of most machines
// Given up at once, without the block's last step. Not by fewer than three steps: two late ones in
// a row come often enough to end the search far from the knee.
constexpr double hopeless = 1.15;
constexpr unsigned hopelessSteps = 3;
// With noise that makes an equal candidate lose a third of its pairs (2 % a step), such a walk ends
// at the wrong one of these in about 6 of 100 cases towards more threads, which the next look
// mends, and in fewer than 1 of 100 towards too few, which costs time.
constexpr int acceptedScore = 8, givenUpScore = -4;
// All trials together may cost this share of the time of all steps: half of what one may accept.
constexpr double affordableShare = 0.01;
// Steps between looks once the search is over. The speed of a shared machine's memory changes
// within minutes; a step takes 10 to 100 ms, so the longest is some minutes.
constexpr unsigned firstInterval = 256, longestInterval = 4096;
constexpr unsigned restBetweenTrials = 8, restAfterOtherWork = 64; // steps
constexpr double sameWork = 0.01; // bytes of two steps that are compared differ by less

} // namespace

unsigned KneeSearch::next() const {
  switch (block) {
  case Block::Reference:
    return trial.reference;
  case Block::Candidate:
    return trial.candidate;
  case Block::Rest:
    break;
  }
  return best;
}

void KneeSearch::ran(unsigned threads, uint64_t bytes, double seconds) {
  if (all == 1 || threads != next() || !(seconds > 0))
    return;
  ++stepsRan;
  total += seconds;
  if (block == Block::Rest) {
    restLeft -= restLeft > 0;
    if (restLeft > 0)
      return;
    if (trial.candidate == 0)
      beginTrial();
    if (trial.candidate != 0 && affordable())
      beginPair(bytes);
    return;
  }
  const auto expected = static_cast<double>(pairBytes);
  if (std::abs(static_cast<double>(bytes) - expected) > sameWork * expected)
    abandonPair();
  else
    takeStep(seconds);
}

/// Down by quarters, as what a candidate can cost grows with the distance; between two known ends
/// in the middle, by ratio. 0: the ends are near enough.
unsigned KneeSearch::between() const {
  if (best - tooFew <= std::max(1u, best / 12))
    return 0;
  const auto middle = static_cast<unsigned>(std::sqrt(double{1} * tooFew * best));
  return std::clamp(std::max(best * 3 / 4, middle), tooFew + 1, best - 1);
}

ThreadComparison KneeSearch::comparison() const {
  if (best == all)
    return givenUp;
  return enough.fewer == best ? enough : ThreadComparison();
}

void KneeSearch::beginTrial() {
  trial = {};
  trial.reference = fastest;
  trial.candidate = between();
  if (trial.candidate != 0)
    return;
  look();
}

/// After the search, in turns: whether `best` still does, and whether fewer would by now, of which
/// the nearest is looked at as well as a far one: it may have been given up by bad luck.
void KneeSearch::look() {
  ++looks;
  const bool fewer = best > 1 && (best == all || looks % 2 == 0);
  if (fewer) {
    trial.candidate = tooFew != 0 && looks / 2 % 2 == 1 ? tooFew : std::max(1u, best * 3 / 4);
  } else {
    trial.candidate = best;
    trial.reference = fastest == best || looks % 4 == 1 ? all : fastest;
  }
}

/// What a trial has cost so far: its candidate, or where the candidate is what runs anyway, its
/// reference. Noise goes both ways and cancels, so only the sum is held against 0.
double KneeSearch::excess() const {
  const double slower = trial.candidateSeconds - trial.referenceSeconds;
  return stepsOfBlock * (trial.candidate == best ? -slower : slower);
}

/// The next pair costs as much as those before it. The first at most what it does when all work is
/// divided among the threads and none waits for memory.
bool KneeSearch::affordable() const {
  double expected = 0;
  if (trial.pairs != 0)
    expected = excess() / trial.pairs;
  else if (trial.candidate < best)
    expected = stepsOfBlock * (double{1} * best / trial.candidate - 1) * total /
               static_cast<double>(stepsRan);
  return spent + std::max(0.0, excess()) + std::max(0.0, expected) <= affordableShare * total;
}

void KneeSearch::beginPair(uint64_t bytes) {
  pairBytes = bytes;
  block = Block::Reference;
  blockSteps = 0;
}

void KneeSearch::takeStep(double seconds) {
  ++blockSteps;
  blockSeconds = blockSteps == 1 ? seconds : blockSeconds + seconds;
  first = blockSteps == 1 ? seconds : first;
  least = blockSteps <= 2 ? seconds : std::min(least, seconds);
  const bool lost = block == Block::Candidate && trial.candidate != best &&
                    blockSteps == hopelessSteps &&
                    std::min(first, least) > hopeless * leastReference;
  if (lost || blockSteps == stepsOfBlock)
    endBlock();
}

void KneeSearch::endBlock() {
  blockSteps = 0;
  if (block == Block::Candidate)
    return endPair();
  leastReference = least;
  block = Block::Candidate;
}

/// What it has cost counts, or work that changes all the time would cost without end.
void KneeSearch::abandonPair() {
  if (block == Block::Candidate && trial.candidate != best)
    spent += std::max(0.0, blockSeconds - blockSteps * leastReference);
  block = Block::Rest;
  restLeft = restAfterOtherWork;
}

void KneeSearch::endPair() {
  ++trial.pairs;
  trial.referenceSeconds += leastReference;
  trial.candidateSeconds += least;
  const Verdict verdict = judge(least / leastReference);
  if (verdict == Verdict::Open) {
    if (affordable())
      return beginPair(pairBytes);
    block = Block::Rest; // until it is
    return;
  }
  spent += std::max(0.0, excess());
  if (verdict == Verdict::Accepted)
    accept();
  else
    giveUp();
  rest();
}

KneeSearch::Verdict KneeSearch::judge(double ratio) {
  if (ratio > hopeless && trial.candidate != best)
    return Verdict::GivenUp;
  const double limit = trial.candidate == best ? stillEnough : nearEnough;
  trial.score += ratio <= limit ? 1 : ratio <= clearlySlower ? -1 : -2;
  if (trial.score >= acceptedScore)
    return Verdict::Accepted;
  return trial.score <= givenUpScore ? Verdict::GivenUp : Verdict::Open;
}

void KneeSearch::accept() {
  const double pairs = trial.pairs;
  enough = {trial.candidate, trial.reference, trial.candidateSeconds / pairs,
            trial.referenceSeconds / pairs};
  if (trial.candidateSeconds * nearEnough < trial.referenceSeconds)
    fastest = trial.candidate;
  if (trial.candidate == best)
    return;
  best = trial.candidate;
  interval = 0;
  if (tooFew >= best)
    tooFew = 0; // the memory has changed
}

void KneeSearch::giveUp() {
  const double pairs = trial.pairs;
  givenUp = {trial.candidate, trial.reference, trial.candidateSeconds / pairs,
             trial.referenceSeconds / pairs};
  tooFew = std::max(tooFew, trial.candidate);
  if (trial.candidate != best)
    return;
  best = fastest = trial.reference;
  interval = 0;
}

void KneeSearch::rest() {
  trial = {};
  block = Block::Rest;
  restLeft = restBetweenTrials;
  if (between() != 0)
    return;
  interval = interval == 0 ? firstInterval : std::min(2 * interval, longestInterval);
  restLeft = interval;
}

} // namespace inf
