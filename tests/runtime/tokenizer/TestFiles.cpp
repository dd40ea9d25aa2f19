#include "tests/runtime/tokenizer/TestFiles.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include <nlohmann/json.hpp>

namespace inf::test {

std::string readFile(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  if (!file)
    throw std::runtime_error("cannot read the test's file " + path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::string> readLines(const std::string &path) {
  std::string text = readFile(path);
  std::vector<std::string> lines;
  for (size_t at = 0; at < text.size();) {
    size_t end = std::min(text.find('\n', at), text.size());
    if (end > at)
      lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

std::string tinyJson() { return readFile(INF_SOURCE_DIR "/models/gpt-oss-tiny/tokenizer.json"); }

const Tokenizer &tinyTokenizer() {
  static const Tokenizer tokenizer = Tokenizer::fromJson(tinyJson());
  return tokenizer;
}

nlohmann::json charactersJson() {
  return nlohmann::json::parse(
      readFile(INF_SOURCE_DIR "/tests/data/tokenizer/hf_stages.json"))["bases"]["characters"];
}

nlohmann::json manyStagesJson() {
  nlohmann::json json = charactersJson();
  json["normalizer"] = nlohmann::json::parse(R"json({"type": "Sequence", "normalizers": [
    {"type": "NFKC"}, {"type": "Lowercase"}, {"type": "StripAccents"},
    {"type": "Strip", "strip_left": false, "strip_right": true},
    {"type": "Prepend", "prepend": " "},
    {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}]})json");
  json["pre_tokenizer"] = nlohmann::json::parse(R"json({"type": "Sequence", "pretokenizers": [
    {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "first", "split": true},
    {"type": "Split", "pattern": {"String": "e"}, "behavior": "MergedWithNext", "invert": false},
    {"type": "Digits", "individual_digits": true},
    {"type": "Punctuation", "behavior": "Contiguous"},
    {"type": "Whitespace"}, {"type": "WhitespaceSplit"},
    {"type": "CharDelimiterSplit", "delimiter": "q"}]})json");
  json["post_processor"] = nlohmann::json::parse(R"json({"type": "TemplateProcessing",
    "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A"}}],
    "pair": [], "special_tokens": {"<s>": {"id": "<s>", "ids": [1], "tokens": ["<s>"]}}})json");
  json["decoder"]["decoders"].push_back(
      {{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}});
  json["added_tokens"][0]["single_word"] = true;
  json["added_tokens"][1]["lstrip"] = true;
  return json;
}

nlohmann::json scoredJson() {
  nlohmann::json json = charactersJson(), vocab = nlohmann::json::array();
  json["added_tokens"].erase(3); // <tool>
  for (const char *special : {"<unk>", "<s>", "</s>"})
    vocab.push_back({special, 0});
  for (int byte = 0; byte < 256; ++byte)
    vocab.push_back({fmt::format("<0x{:02X}>", byte), 0});
  const std::pair<const char *, double> pieces[] = {
      {"ab", -2}, {"bc", -2}, {"abc", -1.5}, {"cd", -1},     {"a", -9},        {"b", -9},
      {"c", -9},  {"d", -9},  {"éé", -3},    {"\u2581", -9}, {"\u2581a", -2.5}};
  for (const auto &[text, score] : pieces)
    vocab.push_back({text, score});
  json["model"] = {{"type", "ScoredBPE"},
                   {"unk_token", "<unk>"},
                   {"byte_fallback", true},
                   {"fuse_unk", false},
                   {"vocab", vocab}};
  return json;
}

const Tokenizer &charactersTokenizer() {
  auto make = [] {
    nlohmann::json json = charactersJson();
    json["normalizer"] = {
        {"type", "Sequence"},
        {"normalizers",
         {{{"type", "Prepend"}, {"prepend", "\u2581"}},
          {{"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", "\u2581"}}}}};
    json["decoder"]["decoders"].push_back(
        {{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}});
    return Tokenizer::fromJson(json.dump());
  };
  static const Tokenizer tokenizer = make();
  return tokenizer;
}

Tokenizer chainTokenizer(int longest) {
  nlohmann::json json = charactersJson();
  json["added_tokens"] = nlohmann::json::array();
  json["model"]["unk_token"] = nullptr;
  json["model"]["vocab"] = {{"a", 0}};
  json["model"]["merges"] = nlohmann::json::array();
  for (int length = 2; length <= longest; ++length) {
    json["model"]["vocab"][std::string(size_t(length), 'a')] = length - 1;
    json["model"]["merges"].push_back({std::string(size_t(length - 1), 'a'), "a"});
  }
  return Tokenizer::fromJson(json.dump());
}

Tokenizer normalizingTokenizer(const std::string &type) {
  nlohmann::json json = charactersJson();
  json["normalizer"] = {{"type", type}};
  return Tokenizer::fromJson(json.dump());
}

std::optional<std::string> sharedFolder() {
  std::string path = INF_SOURCE_DIR "/../shared";
  return std::filesystem::exists(path) ? std::optional(path) : std::nullopt;
}

Tokenizer o200kTokenizer(const std::string &shared) {
  auto json = nlohmann::json::parse(tinyJson());
  std::string pattern = json["pre_tokenizer"]["pretokenizers"][0]["pattern"]["Regex"];
  auto names = nlohmann::json::parse(readFile(shared + "/tokenizer/o200k_harmony_specials.json"));
  std::vector<SpecialToken> specials;
  for (const auto &item : names.items())
    specials.push_back({item.key(), item.value()});
  return Tokenizer::fromRanks(readFile(shared + "/tokenizer/o200k_base.tiktoken"), pattern,
                              specials);
}

} // namespace inf::test
