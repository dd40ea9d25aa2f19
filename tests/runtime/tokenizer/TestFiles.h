// Files the tests read, and the tokenizers made from them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "runtime/base/Error.h"
#include "runtime/tokenizer/Tokenizer.h"

namespace inf::test {

std::string readFile(const std::string &path);
std::vector<std::string> readLines(const std::string &path);

/// tokenizer.json of models/gpt-oss-tiny in the repository.
std::string tinyJson();
const Tokenizer &tinyTokenizer();

/// A small tokenizer.json of characters with byte tokens.
nlohmann::json charactersJson();
/// It with stages of many types.
nlohmann::json manyStagesJson();
/// A small vocabulary with scores: "ab" and "bc" score alike, "abc" better, "cd" best.
nlohmann::json scoredJson();
/// A tokenizer of characters that marks spaces, as Llama 2's, from hf_stages.json.
const Tokenizer &charactersTokenizer();

/// One of characters whose tokens are "a", "aa", "aaa", … each made of the one before.
Tokenizer chainTokenizer(int longest);

/// One of characters with this normalizer.
Tokenizer normalizingTokenizer(const std::string &type);

/// The folder of large files beside the repository; nothing when it does not exist at all.
std::optional<std::string> sharedFolder();

/// o200k from the rank file in the shared folder, with the special tokens of Harmony. The split
/// pattern is that of gpt-oss-tiny.
Tokenizer o200kTokenizer(const std::string &shared);

/// The message of the Error that `action` must end with.
template <typename Action> std::string errorOf(ErrorCode code, Action action) {
  try {
    action();
  } catch (const Error &error) {
    EXPECT_EQ(error.code, code) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "no error";
  return {};
}

} // namespace inf::test
