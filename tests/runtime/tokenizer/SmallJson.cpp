#include "tests/runtime/tokenizer/SmallJson.h"

namespace inf::test {
namespace {

std::string utf8(int codePoint) { // below U+0800
  if (codePoint < 0x80)
    return {char(codePoint)};
  return {char(0xC0 | codePoint >> 6), char(0x80 | (codePoint & 0x3F))};
}

} // namespace

std::string alphabetOf(int byte) {
  auto own = [](int b) {
    return (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || (b >= 174 && b <= 255);
  };
  if (own(byte))
    return utf8(byte);
  int before = 0;
  for (int other = 0; other < byte; ++other)
    before += !own(other);
  return utf8(256 + before);
}

nlohmann::json smallJson() {
  auto json = nlohmann::json::parse(R"json({
    "version": "1.0", "truncation": null, "padding": null, "normalizer": null,
    "added_tokens": [
      {"id": 300, "content": "<|end|>", "single_word": false, "lstrip": false, "rstrip": false,
       "normalized": false, "special": true},
      {"id": 301, "content": "<tool>", "single_word": false, "lstrip": false, "rstrip": false,
       "normalized": false, "special": false}],
    "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
      {"type": "Split", "pattern": {"Regex": "\\p{L}+|[^\\p{L}]+"}, "behavior": "Isolated",
       "invert": false},
      {"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false}]},
    "post_processor": null,
    "decoder": {"type": "ByteLevel", "add_prefix_space": true, "trim_offsets": true,
                "use_regex": true},
    "model": {"type": "BPE", "dropout": null, "unk_token": null,
      "continuing_subword_prefix": null, "end_of_word_suffix": null, "fuse_unk": false,
      "byte_fallback": false, "ignore_merges": false,
      "vocab": {"he": 256, "ll": 257, "hell": 258, "hello": 259, "aa": 260, "aaaa": 261},
      "merges": [["h", "e"], ["l", "l"], ["he", "ll"], ["hell", "o"], ["a", "a"], ["aa", "aa"]]}
  })json");
  for (int byte = 0; byte < 256; ++byte)
    json["model"]["vocab"][alphabetOf(byte)] = byte;
  return json;
}

} // namespace inf::test
