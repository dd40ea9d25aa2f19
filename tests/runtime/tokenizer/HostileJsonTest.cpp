// tokenizer.json as a file from anywhere: every fault is an Error that names it, never a crash.
#include <functional>
#include <random>

#include <gmock/gmock.h>

#include "tests/runtime/tokenizer/SmallJson.h"
#include "tests/runtime/tokenizer/TestFiles.h"

namespace inf {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;

std::string refusal(const std::string &text) {
  return test::errorOf(ErrorCode::BadInput, [&] { Tokenizer::fromJson(text); });
}

// What is said to small.json after `change`.
std::string refusalAfter(const std::function<void(Json &)> &change) {
  Json json = test::smallJson();
  change(json);
  return refusal(json.dump());
}

TEST(HostileJson, TheUnchangedFileIsAccepted) { Tokenizer::fromJson(test::smallJson().dump()); }

TEST(HostileJson, TruncatedAnywhereIsRefused) {
  std::string small = test::smallJson().dump();
  for (size_t length = 0; length < small.size(); length += 7)
    ASSERT_THAT(refusal(small.substr(0, length)), HasSubstr("not JSON")) << length;
  std::string tiny = test::tinyJson();
  for (size_t length = 1; length < tiny.size() - 2; length += tiny.size() / 40)
    ASSERT_THAT(refusal(tiny.substr(0, length)), HasSubstr("not JSON")) << length;
}

TEST(HostileJson, DeepNestingIsRefused) {
  for (const char *open : {"[", "{\"a\":"}) {
    std::string deep;
    for (int i = 0; i < 1000000; ++i)
      deep += open;
    refusal(deep);
  }
  std::string closed(1000000, '[');
  closed += std::string(1000000, ']');
  EXPECT_THAT(refusal(closed), HasSubstr("the file is a array"));
  refusal("{\"pre_tokenizer\":" + closed + "}");
}

TEST(HostileJson, NumbersBeyondDoubleAndBadUtf8AreRefused) {
  refusal("{\"version\": 1e999}");
  refusal("{\"version\": \"\xFF\"}");
  refusal("null");
  refusal("");
}

/// Loads the file if it can be loaded, and uses it: only Errors may come out.
void tryOut(const std::string &text) {
  try {
    Tokenizer tokenizer = Tokenizer::fromJson(text);
    auto ids = tokenizer.encode("a <s>Hello\xFF 1é漢 <|end|>hello", SpecialTokens::Allow,
                                TextEnds::Marked);
    tokenizer.decode(ids);
  } catch (const Error &error) {
    EXPECT_TRUE(error.code == ErrorCode::BadInput || error.code == ErrorCode::TooLong)
        << error.what();
  }
}

// Replaces every value in turn, at every depth, by one of each type.
void replaceEach(Json &root, Json &node, int &tried) {
  std::vector<Json *> children;
  for (auto &child : node)
    children.push_back(&child);
  if (children.size() > 12)
    children.resize(12); // of a vocabulary, some are enough
  for (Json *child : children) {
    for (const Json &value :
         {Json(nullptr), Json(true), Json(-1), Json(1.5), Json(uint64_t(-1)), Json("x"), Json(""),
          Json::array(), Json::object(), Json{{"type", 1}}, Json::array({1, 2})}) {
      Json saved = *child;
      *child = value;
      tryOut(root.dump());
      *child = saved;
      ++tried;
    }
    if (child->is_structured())
      replaceEach(root, *child, tried);
  }
}

/// One file for each kind, with every kind of stage.
std::vector<Json> filesOfEachKind() {
  return {test::smallJson(), test::manyStagesJson(), test::scoredJson()};
}

TEST(HostileJson, AnyValueOfAnyTypeInAnyPlaceNeverCrashes) {
  for (Json json : filesOfEachKind()) {
    Tokenizer::fromJson(json.dump());
    int tried = 0;
    replaceEach(json, json, tried);
    EXPECT_GT(tried, 500);
  }
}

TEST(HostileJson, RandomlyDamagedFilesNeverCrash) {
  SCOPED_TRACE("seed 12, --gtest_filter=HostileJson.*");
  std::mt19937 random(12);
  for (const Json &json : filesOfEachKind()) {
    const std::string original = json.dump();
    for (int run = 0; run < 2000; ++run) {
      std::string text = original;
      for (uint32_t i = random() % 3 + 1; i > 0; --i)
        text[random() % text.size()] = "\"{}[],:0\\-ax"[random() % 12];
      tryOut(text);
    }
  }
}

/// Of a value that is not implemented: says what would be, and what to do without it.
std::string refusalAt(const char *pointer, const Json &value) {
  const std::string text =
      refusalAfter([&](Json &json) { json[Json::json_pointer(pointer)] = value; });
  EXPECT_THAT(text, HasSubstr("expected ")) << pointer;
  EXPECT_THAT(text, HasSubstr("not implemented. Compile with --no-tokenizer")) << pointer;
  return text;
}

TEST(HostileJson, TypesThatAreNotImplementedAreNamed) {
  const auto at = refusalAt;
  EXPECT_THAT(at("/model/type", "Unigram"), HasSubstr("model.type is \"Unigram\""));
  EXPECT_THAT(at("/normalizer", {{"type", "Precompiled"}}),
              HasSubstr("normalizer.type is \"Precompiled\""));
  EXPECT_THAT(at("/pre_tokenizer/pretokenizers/0/type", "UnicodeScripts"),
              HasSubstr("pre_tokenizer.pretokenizers[0].type is \"UnicodeScripts\""));
  EXPECT_THAT(at("/pre_tokenizer/pretokenizers/0/behavior", "Doubled"), HasSubstr("\"Doubled\""));
  EXPECT_THAT(at("/pre_tokenizer/pretokenizers/0/pattern", {{"Glob", "*"}}),
              HasSubstr("pattern: the key \"Glob\""));
  EXPECT_THAT(at("/decoder/type", "Metaspace"), HasSubstr("decoder.type is \"Metaspace\""));
  EXPECT_THAT(at("/decoder", nullptr), HasSubstr("decoder is missing"));
  EXPECT_THAT(at("/post_processor", {{"type", "BertProcessing"}}),
              HasSubstr("post_processor.type is \"BertProcessing\""));
  // A Sequence inside of a Sequence.
  EXPECT_THAT(at("/pre_tokenizer/pretokenizers/0", {{"type", "Sequence"}}),
              HasSubstr("pretokenizers[0].type is \"Sequence\""));
}

TEST(HostileJson, OptionsThatAreNotImplementedAreNamed) {
  const auto at = refusalAt;
  EXPECT_THAT(at("/model/dropout", 0.1), HasSubstr("model.dropout"));
  EXPECT_THAT(at("/model/continuing_subword_prefix", "##"),
              HasSubstr("model.continuing_subword_prefix"));
  EXPECT_THAT(at("/model/end_of_word_suffix", "</w>"), HasSubstr("model.end_of_word_suffix"));
  EXPECT_THAT(at("/model/novelty", 1), HasSubstr("model: the key \"novelty\""));
  EXPECT_THAT(at("/novelty", 1), HasSubstr("the file: the key \"novelty\""));
  EXPECT_THAT(at("/truncation", {{"max_length", 5}}), HasSubstr("truncation"));
  EXPECT_THAT(at("/padding", Json::object()), HasSubstr("padding"));
}

TEST(HostileJson, ByteLevelEndsThePreTokenizerAndIsTheDecoder) {
  EXPECT_THAT(refusalAfter([](Json &json) { json["pre_tokenizer"]["pretokenizers"].erase(1); }),
              HasSubstr("a decoder without ByteLevel, as the pre_tokenizer has none"));
  EXPECT_THAT(refusalAfter([](Json &json) {
                auto &stages = json["pre_tokenizer"]["pretokenizers"];
                std::swap(stages[0], stages[1]);
              }),
              HasSubstr("comes after ByteLevel"));
  EXPECT_THAT(refusalAfter([](Json &json) {
                auto &stages = json["pre_tokenizer"]["pretokenizers"];
                for (int i = 0; i < 20; ++i)
                  stages.insert(stages.begin(), stages[0]);
              }),
              HasSubstr("22 entries, expected at most 16"));
}

TEST(HostileJson, BrokenVocabulariesAreNamed) {
  auto vocab = [](const char *token, Json id) {
    return refusalAfter([&](Json &json) { json["model"]["vocab"][token] = id; });
  };
  EXPECT_THAT(vocab("zz", 256), HasSubstr("id 256 is given twice"));
  EXPECT_THAT(vocab("zz", -1), HasSubstr("id -1, expected 0 to 2097151"));
  EXPECT_THAT(vocab("zz", 2097152), HasSubstr("id 2097152"));
  EXPECT_THAT(vocab("zz", uint64_t(-1)), HasSubstr("id 9223372036854775807"));
  EXPECT_THAT(vocab("zz", 1e18), HasSubstr("expected an integer"));
  EXPECT_THAT(vocab("", 400), HasSubstr("empty"));
  EXPECT_THAT(vocab("z z", 400), HasSubstr("outside of the byte-level alphabet"));
  EXPECT_THAT(vocab("<|end|>", 400), HasSubstr("300 in added_tokens and 400 in model.vocab"));
  EXPECT_THAT(refusalAfter([](Json &json) { json["model"]["vocab"].erase("Ġ"); }),
              HasSubstr("single byte 0x20"));
}

TEST(HostileJson, BrokenAddedTokensAreNamed) {
  auto added = [](const char *content, Json id) {
    return refusalAfter([&](Json &json) {
      json["added_tokens"].push_back({{"id", id}, {"content", content}, {"special", true}});
    });
  };
  EXPECT_THAT(added("<|end|>", 302), HasSubstr("\"<|end|>\" is given twice"));
  EXPECT_THAT(added("<x>", 300), HasSubstr("id 300 is given twice"));
  EXPECT_THAT(added("<x>", 256), HasSubstr("id 256 is given twice"));
  EXPECT_THAT(added("<x>", -7), HasSubstr("id -7"));
  EXPECT_THAT(added("", 302), HasSubstr("empty"));
  EXPECT_THAT(added("hello", 302), HasSubstr("302 in added_tokens and 259"));
}

TEST(HostileJson, BrokenMergesAreNamed) {
  auto merge = [](Json value) {
    return refusalAfter([&](Json &json) { json["model"]["merges"].push_back(value); });
  };
  EXPECT_THAT(merge({"he", "zz"}), HasSubstr("model.merges[6] names \"hezz\""));
  EXPECT_THAT(merge("l o"), HasSubstr("names \"lo\""));
  EXPECT_THAT(merge({"h", "e"}), HasSubstr("repeats"));
  for (Json value : {Json("he"), Json("h e l"), Json::array({"h"}), Json::array({"h", 1}), Json(1)})
    EXPECT_THAT(merge(value), HasSubstr("model.merges[6] is not two tokens"));
  // Text must never turn into a special token by merging.
  EXPECT_THAT(merge({"<|end|", ">"}), HasSubstr("no ordinary token"));
}

TEST(HostileJson, BrokenScoresAreNamed) {
  auto entry = [](Json value) {
    Json json = test::scoredJson();
    json["model"]["vocab"][5] = value;
    return refusal(json.dump());
  };
  for (Json value : {Json("x"), Json::array({"x"}), Json::array({1, 2}), Json::array({"x", "y"}),
                     Json(nullptr), Json::array({"x", 1, 2})})
    EXPECT_THAT(entry(value), HasSubstr("model.vocab[5] is not a token"));
  EXPECT_THAT(entry({"<0x00>", 0}), HasSubstr("given twice"));
  EXPECT_THAT(entry({"", 0}), HasSubstr("empty"));
  EXPECT_THAT(entry({"<s>", 0}), HasSubstr("1 in added_tokens and 5 in model.vocab"));
}

TEST(HostileJson, BrokenStagesAreNamed) {
  auto at = [](const char *pointer, Json value) {
    Json json = test::manyStagesJson();
    json[Json::json_pointer(pointer)] = value;
    return refusal(json.dump());
  };
  EXPECT_THAT(at("/normalizer/normalizers/0/novelty", 1), HasSubstr("\"novelty\""));
  EXPECT_THAT(at("/pre_tokenizer/pretokenizers/0/prepend_scheme", "last"), HasSubstr("\"last\""));
  EXPECT_THAT(at("/pre_tokenizer/pretokenizers/0/add_prefix_space", false),
              HasSubstr("as add_prefix_space is false"));
  EXPECT_THAT(at("/post_processor/special_tokens/<s>/ids", {99999}), HasSubstr("id 99999"));
  EXPECT_THAT(at("/post_processor/special_tokens/<s>/ids", {-1}), HasSubstr("id -1"));
  EXPECT_THAT(at("/post_processor/single/1/Sequence/id", "B"),
              HasSubstr("only place for one text"));
  EXPECT_THAT(at("/post_processor/special_tokens", Json::object()), HasSubstr("<s> is missing"));
  EXPECT_THAT(at("/decoder/decoders/3/stop", 1), HasSubstr("one Strip behind Fuse, with stop 0"));
  EXPECT_THAT(at("/decoder/decoders/3/start", -1), HasSubstr("start is -1"));
  EXPECT_THAT(at("/decoder/decoders/3/content", "xy"), HasSubstr("one character"));
  EXPECT_THAT(at("/decoder/decoders/3", {{"type", "ByteFallback"}}), HasSubstr("behind Fuse"));
  EXPECT_THAT(at("/model/unk_token", "<none>"), HasSubstr("\"<none>\", which is no token"));
  EXPECT_THAT(at("/added_tokens/0/content", std::string(1025, 'x')), HasSubstr("1025 bytes"));
}

// Each step doubles the text: the limit stops it before memory does.
TEST(HostileJson, ANormalizerThatGrowsTheTextIsStopped) {
  Json json = test::charactersJson();
  json["normalizer"] = {{"type", "Sequence"}, {"normalizers", Json::array()}};
  for (int i = 0; i < 4; ++i)
    json["normalizer"]["normalizers"].push_back(
        {{"type", "Replace"}, {"pattern", {{"String", "a"}}}, {"content", std::string(1000, 'a')}});
  Tokenizer tokenizer = Tokenizer::fromJson(json.dump());
  EXPECT_THAT(
      test::errorOf(ErrorCode::TooLong, [&] { tokenizer.encode("aaaa", SpecialTokens::AsText); }),
      HasSubstr("the normalizer makes a text of more than"));
}

TEST(HostileJson, MessagesShowNoControlCharacters) {
  std::string message = refusalAfter([](Json &json) { json["model"]["type"] = "\x1b[31mred\n"; });
  EXPECT_THAT(message, HasSubstr("\"\\x1b[31mred\\x0a\""));
  EXPECT_LT(refusalAfter([](Json &json) { json["model"]["type"] = std::string(9999, 'x'); }).size(),
            300u);
}

} // namespace
} // namespace inf
