#include <gtest/gtest.h>

#include <random>

#include "runtime/base/Error.h"
#include "runtime/session/StopStrings.h"

using namespace inf;

namespace {

/// Everything shown when `text` comes in pieces of `size` bytes.
std::string shown(const std::vector<std::string> &stops, const std::string &text, size_t size,
                  bool *stopped = nullptr) {
  StopStrings matcher(stops);
  std::string all;
  for (size_t i = 0; i < text.size() && !matcher.stopped(); i += size)
    all += matcher.push(text.substr(i, size));
  all += matcher.finish();
  if (stopped)
    *stopped = matcher.stopped();
  return all;
}

} // namespace

TEST(StopStrings, withoutStopsNothingIsHeldBack) {
  StopStrings none({});
  EXPECT_EQ(none.push("abc"), "abc");
  EXPECT_EQ(none.finish(), "");
}

TEST(StopStrings, aStopIsFoundHoweverItIsCut) {
  for (size_t size = 1; size < 20; ++size) {
    bool stopped = false;
    EXPECT_EQ(shown({"\nUser:"}, "hello\nUs\nUser: more", size, &stopped), "hello\nUs") << size;
    EXPECT_TRUE(stopped);
  }
}

TEST(StopStrings, textIsHeldOnlyWhileItCanBecomeAStop) {
  StopStrings matcher({"STOP"});
  EXPECT_EQ(matcher.push("abST"), "ab");
  EXPECT_EQ(matcher.push("A"), "STA");
  EXPECT_EQ(matcher.push("S"), "");
  EXPECT_EQ(matcher.finish(), "S") << "the end of the text releases what was held";
  EXPECT_FALSE(matcher.stopped());
}

TEST(StopStrings, theEarliestStartWinsWhateverIsCompleteFirst) {
  EXPECT_EQ(shown({"cd", "abcdef"}, "xabcdefy", 1), "x");
  EXPECT_EQ(shown({"cd", "abcdef"}, "xabcdexy", 1), "xab") << "the longer one did not complete";
  EXPECT_EQ(shown({"ab", "abc"}, "xabc", 1), "x");
  EXPECT_EQ(shown({"cd", "abcdef"}, "xabcd", 1), "xab") << "the end decides too";
}

TEST(StopStrings, anEmptyStopStringIsRefused) { EXPECT_THROW(StopStrings({""}), Error); }

TEST(StopStrings, randomTextsEqualTheWholeTextSearch) {
  uint32_t seed = std::random_device()();
  std::mt19937 random(seed);
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  auto text = [&](size_t length) {
    std::string t;
    for (size_t i = 0; i < length; ++i)
      t += static_cast<char>('a' + random() % 2);
    return t;
  };
  for (int i = 0; i < 5000; ++i) {
    std::vector<std::string> stops = {text(1 + random() % 5), text(2 + random() % 6)};
    std::string whole = text(random() % 30);
    size_t cut = std::min(whole.find(stops[0]), whole.find(stops[1]));
    EXPECT_EQ(shown(stops, whole, 1 + random() % 4), whole.substr(0, cut))
        << whole << " stops " << stops[0] << " " << stops[1];
  }
}
