// Bounds loose enough for a busy machine; they catch quadratic behaviour, not slow code.
#include <algorithm>
#include <ctime>

#include "tests/runtime/tokenizer/TestFiles.h"

namespace inf {
namespace {

/// Of this thread, on a CPU: what other programs do beside the test counts little.
double cpuSeconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return double(now.tv_sec) + double(now.tv_nsec) * 1e-9;
}

double secondsOf(const Tokenizer &tokenizer, const std::string &text, bool lossless = true) {
  double start = cpuSeconds();
  auto ids = tokenizer.encode(text, SpecialTokens::Allow);
  double seconds = cpuSeconds() - start;
  if (lossless) {
    EXPECT_EQ(tokenizer.decode(ids), text);
  }
  return seconds;
}

/// Seconds for a run of `bytes` bytes of `one`, the best of three: other programs run beside tests.
double secondsOfRun(const Tokenizer &tokenizer, const std::string &one, size_t bytes) {
  std::string text;
  while (text.size() < bytes)
    text += one;
  double best = secondsOf(tokenizer, text);
  for (int again = 0; again < 2; ++again)
    best = std::min(best, secondsOf(tokenizer, text));
  return best;
}

// Eight times the text may take at most 24 times as long (n log n, and caches that end), where a
// quadratic step takes 64 times as long.
void checkRuns(const Tokenizer &tokenizer) {
  for (std::string one : {"a", "A", " ", "\n", "<", "!", "漢", "\xFF", "\u0301", " a", "ab"}) {
    double small = secondsOfRun(tokenizer, one, 1 << 17);
    EXPECT_LT(secondsOfRun(tokenizer, one, 1 << 20), 24 * std::max(small, 0.002)) << one;
  }
}

TEST(Speed, LongRunsOfOneCharacterStayNearlyLinear) { checkRuns(test::tinyTokenizer()); }

TEST(Speed, LongRunsStayNearlyLinearForCharactersToo) { checkRuns(test::charactersTokenizer()); }

// A chain of merges makes ever longer tokens of one letter; marks of two classes must be sorted.
TEST(Speed, HostileVocabulariesAndTextsStayNearlyLinear) {
  Tokenizer tokenizer = test::chainTokenizer(/*longest=*/300);
  double small = secondsOfRun(tokenizer, "a", 1 << 14);
  EXPECT_LT(secondsOfRun(tokenizer, "a", 1 << 17), 24 * std::max(small, 0.002));
  std::string marks;
  for (int i = 0; i < 300000; ++i)
    marks += i % 2 ? "\u0323" : "\u0301";
  EXPECT_LT(secondsOf(test::normalizingTokenizer("NFD"), marks, /*lossless=*/false), 5);
}

// A single match backtracks over all of it: more text than any limit of PCRE2 by default.
TEST(Speed, ARunOfTwelveMillionCharactersIsNotRefused) {
  EXPECT_LT(secondsOf(test::tinyTokenizer(), std::string(12000000, 'A')), 60);
}

TEST(Speed, AMegabyteOfEnglish) {
  auto shared = test::sharedFolder();
  if (!shared)
    GTEST_SKIP() << "the folder ../shared does not exist";
  std::string text = test::readFile(*shared + "/text/calibration.txt").substr(0, 1 << 20);
  const std::pair<const char *, double> times[] = {
      {"tiny", secondsOf(test::tinyTokenizer(), text)},
      {"o200k", secondsOf(test::o200kTokenizer(*shared), text)},
      {"characters", secondsOf(test::charactersTokenizer(), text)},
      {"stories260K", secondsOf(Tokenizer::fromJson(
                                    test::readFile(*shared + "/models/stories260K/tokenizer.json")),
                                text)}};
  for (const auto &[name, seconds] : times) {
    RecordProperty(std::string(name) + "_ms", std::to_string(seconds * 1000));
    EXPECT_LT(seconds, 1.5) << name; // ten times the goal of 0.15 s, for sanitizers, busy machines
  }
}

} // namespace
} // namespace inf
