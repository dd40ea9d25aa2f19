#include "tests/runtime/chat/Vectors.h"

#include <optional>

#include <nlohmann/json.hpp>

#include "tests/runtime/tokenizer/TestFiles.h"

namespace inf::test {

HarmonyVector harmonyVector(const std::string &name) {
  static const auto all = nlohmann::json::parse(
      readFile(INF_SOURCE_DIR "/tests/data/harmony/test-data-tokenized.json"));
  const auto &one = all.at("test_" + name + ".txt");
  return {one.at("text"), one.at("ids")};
}

const Tokenizer *o200k() {
  static const std::optional<Tokenizer> tokenizer = []() -> std::optional<Tokenizer> {
    auto shared = sharedFolder();
    return shared ? std::optional(o200kTokenizer(*shared)) : std::nullopt;
  }();
  return tokenizer ? &*tokenizer : nullptr;
}

} // namespace inf::test
