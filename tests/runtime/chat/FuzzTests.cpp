// Parsers under any sequence of tokens: nothing is thrown, every byte of text comes out once and in
// order, deltas are well-formed UTF-8, the end is a defined state.
#include <random>

#include <gtest/gtest.h>

#include "runtime/chat/Chat.h"
#include "runtime/chat/TokenText.h"
#include "runtime/chat/harmony/HarmonyMessage.h"
#include "runtime/tokenizer/Utf8.h"
#include "tests/runtime/chat/ByteTokenizer.h"
#include "tests/runtime/chat/Parsed.h"
#include "tests/runtime/tokenizer/TestFiles.h"

namespace inf {
namespace {

/// INF_SEED repeats a run.
uint64_t seed() {
  const char *given = std::getenv("INF_SEED");
  uint64_t value = given ? std::strtoull(given, nullptr, 10) : std::random_device()();
  std::printf("seed %llu (INF_SEED=%llu repeats it)\n", static_cast<unsigned long long>(value),
              static_cast<unsigned long long>(value));
  return value;
}

/// What a Harmony answer says, found in another way: cut at control tokens first, then each piece
/// is either in a message or outside. Headers that never become messages are left to
/// HarmonyParserTests: their text is skipped, so nullopt when there is one with text.
std::optional<std::string> harmonyText(const Tokenizer &tokenizer, const HarmonyTokens &tokens,
                                       const std::vector<int32_t> &ids) {
  std::string joined, piece, header;
  bool inHeader = true;
  auto endPiece = [&] { joined += toWellFormed(std::exchange(piece, "")); };
  for (int32_t id : ids) {
    bool ends = id == tokens.end || id == tokens.call || id == tokens.finalReturn;
    bool begins = id == tokens.start || (id == tokens.channel && !inHeader);
    if (begins || ends) {
      endPiece();
      if (inHeader && !header.empty())
        return std::nullopt;
      header.clear();
      inHeader = begins;
    } else if (id == tokens.message && inHeader) {
      header.clear();
      inHeader = false;
    } else if (!isControl(tokenizer, id)) {
      (inHeader ? header : piece) += tokenText(tokenizer, id);
    }
  }
  endPiece();
  return inHeader && !header.empty() ? std::nullopt : std::optional(joined);
}

class HarmonyFuzz : public ::testing::Test {
protected:
  const Tokenizer &tokenizer = test::tinyTokenizer();
  HarmonyTokens tokens{tokenizer};
  std::unique_ptr<const ChatFormat> format = ChatFormat::named(tokenizer, "harmony");
  uint64_t compared = 0;

  void check(const std::vector<int32_t> &ids, bool stopped) {
    test::Parsed parsed = test::parseAnswer(*format->parser({}), ids, stopped);
    ASSERT_EQ(parsed.end, !stopped               ? ChatEnd::Length
                          : parsed.calls.empty() ? ChatEnd::Stop
                                                 : ChatEnd::ToolCalls);
    for (const test::ParsedCall &call : parsed.calls)
      ASSERT_EQ(call.name.find_first_of("< \t\n"), std::string::npos);
    if (std::optional<std::string> text = harmonyText(tokenizer, tokens, ids)) {
      ++compared;
      ASSERT_EQ(parsed.joined, *text) << tokenizer.decode(ids);
    }
  }
};

/// Half of the tokens are control tokens and words of headers: all of text would never leave the
/// first header.
TEST_F(HarmonyFuzz, AMillionRandomTokens) {
  std::mt19937_64 random(seed());
  std::vector<int32_t> telling = {tokens.start,     tokens.end,        tokens.message,
                                  tokens.message,   tokens.call,       tokens.channel,
                                  tokens.constrain, tokens.finalReturn};
  for (const char *words : {"assistant", "analysis", "commentary", "final", " to=functions.f",
                            "user", " json", "\xF0\x9F\x98\x80"})
    for (int32_t id : tokenizer.encode(words, SpecialTokens::AsText))
      telling.push_back(id);
  uint64_t total = 0;
  while (total < 1'000'000) {
    std::vector<int32_t> ids(1 + random() % 60);
    for (int32_t &id : ids)
      id = random() % 2 ? telling[random() % telling.size()]
                        : static_cast<int32_t>(random() % 4100) - 2; // beyond the vocabulary too
    total += ids.size();
    check(ids, random() % 2);
    if (HasFatalFailure())
      return;
  }
  EXPECT_GT(compared, 1000u);
}

TEST_F(HarmonyFuzz, MutatedTranscripts) {
  std::mt19937_64 random(seed());
  const std::vector<int32_t> sound = tokenizer.encode(
      "<|channel|>analysis<|message|>We need the weather in Köln 😀.<|end|><|start|>assistant"
      "<|channel|>commentary<|message|>I'll look.<|end|><|start|>assistant to=functions.weather"
      "<|channel|>commentary <|constrain|>json<|message|>{\"at\": \"Köln\"}<|call|><|start|>"
      "functions.weather to=assistant<|channel|>commentary<|message|>{\"sun\": 1}<|end|><|start|>"
      "assistant<|channel|>final<|message|>Sunny ☀️.<|return|>",
      SpecialTokens::Allow);
  for (int round = 0; round < 10000; ++round) {
    std::vector<int32_t> ids = sound;
    for (uint64_t changes = 1 + random() % 4; changes > 0 && !ids.empty(); --changes) {
      auto at = ids.begin() + static_cast<ptrdiff_t>(random() % ids.size());
      uint64_t kind = random() % 4;
      if (kind == 0)
        ids.erase(at);
      else if (kind == 1)
        ids.insert(at, sound[random() % sound.size()]);
      else if (kind == 2)
        *at = static_cast<int32_t>(random() % 4096);
      else
        ids.erase(at, ids.end()); // cut by the length limit
    }
    check(ids, random() % 2);
    if (HasFatalFailure())
      return;
  }
  EXPECT_GT(compared, 1000u);
}

/// Without marks and line feeds, which stand between parts and are dropped with the marks.
std::string plain(std::string text) {
  for (std::string_view mark : {"<think>", "</think>", "\n"})
    for (size_t at; (at = text.find(mark)) != std::string::npos;)
      text.erase(at, mark.size());
  return text;
}

TEST(TaggedFuzz, RandomPiecesOfMarks) {
  std::mt19937_64 random(seed());
  Tokenizer tokenizer = test::byteTokenizer({"<|im_start|>", "<|im_end|>"});
  std::unique_ptr<const ChatFormat> qwen3 = ChatFormat::named(tokenizer, "qwen3");
  const std::string pieces[] = {"<think>",
                                "</think>",
                                "<tool_call>",
                                "</tool_call>",
                                "<think",
                                "\n",
                                "{\"name\": \"f\"",
                                "}",
                                "\xF0\x9F",
                                "\x98\x80",
                                "<",
                                "\"arguments\": ",
                                ",",
                                "a"};
  for (int round = 0; round < 20000; ++round) {
    std::string text;
    for (uint64_t count = random() % 12; count > 0; --count)
      text += pieces[random() % std::size(pieces)];
    std::vector<int32_t> ids = tokenizer.encode(text, SpecialTokens::AsText);
    test::Parsed parsed = test::parseAnswer(*qwen3->parser({}), ids, random() % 2);
    if (text.find("<tool_call>") != std::string::npos)
      continue; // calls are taken apart: their text comes in another order
    ASSERT_EQ(plain(parsed.joined), plain(toWellFormed(text))) << text;
  }
}

} // namespace
} // namespace inf
