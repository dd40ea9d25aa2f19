#include "runtime/tokenizer/DecoderJson.h"

#include <limits>

#include "runtime/base/Error.h"
#include "runtime/tokenizer/PatternJson.h"
#include "runtime/tokenizer/Utf8.h"

namespace inf {
namespace {

struct Reader {
  bool byteLevel;
  TokenDecoder decoder{};
  bool fused = false, stripped = false;

  void step(const Json &json, const std::string &where) {
    FieldReader object(json, where);
    std::string type = object.text("type");
    if ((type == "ByteLevel") != byteLevel)
      object.refuse("type", type,
                    byteLevel ? "ByteLevel, as the pre_tokenizer is"
                              : "a decoder without ByteLevel, as the pre_tokenizer has none");
    if (type == "ByteLevel")
      object.onlyKeys({"type", "add_prefix_space", "trim_offsets", "use_regex"});
    else if (type == "Fuse")
      fuse(object);
    else if (type == "Strip")
      strip(object);
    else if (fused)
      object.refuse("type", type, "a Strip of the start behind Fuse, and nothing else");
    else
      decoder.add(tokenStep(object, type));
  }

  void fuse(const FieldReader &object) {
    object.onlyKeys({"type"});
    fused = true;
  }

  void strip(const FieldReader &object) {
    object.onlyKeys({"type", "content", "start", "stop"});
    std::string content = object.text("content");
    if (content.empty() || firstSequence(content).length != content.size())
      object.refuse("content", content, "one character");
    uint32_t start = count(object, "start"), stop = count(object, "stop");
    if (!fused)
      return decoder.add(StripToken{content, start, stop});
    if (stop != 0 || stripped)
      object.refuse("type", "Strip", "one Strip behind Fuse, with stop 0");
    stripped = true;
    decoder.stripText(content, start);
  }

  static uint32_t count(const FieldReader &object, const char *key) {
    int64_t value = object.integer(key);
    if (value < 0 || value > std::numeric_limits<uint32_t>::max())
      fail(ErrorCode::BadInput, "tokenizer.json: {} is {}, expected 0 to {}", object.path(key),
           value, std::numeric_limits<uint32_t>::max());
    return uint32_t(value);
  }

  static TokenDecoder::Step tokenStep(const FieldReader &object, const std::string &type) {
    if (type == "Replace") {
      object.onlyKeys({"type", "pattern", "content"});
      return ReplaceInToken{readPattern(object, "pattern"), object.text("content")};
    }
    if (type == "ByteFallback") {
      object.onlyKeys({"type"});
      return ByteTokens{};
    }
    if (type == "Metaspace") {
      object.onlyKeys(
          {"type", "replacement", "prepend_scheme", "split", "add_prefix_space", "str_rep"});
      std::string scheme = object.get("prepend_scheme") ? object.text("prepend_scheme") : "always";
      bool never = scheme == "never" || !object.boolean("add_prefix_space", true);
      if (object.text("replacement").empty())
        object.refuse("replacement", "", "one character");
      return MetaspaceToken{object.text("replacement"), !never};
    }
    object.refuse("type", type,
                  "ByteLevel, Replace, ByteFallback, Fuse, Strip, Metaspace or one Sequence of "
                  "them");
  }
};

} // namespace

TokenDecoder readDecoder(const Json &json, bool byteLevel) {
  Reader reader{byteLevel};
  forEachStage(json, "decoder", "decoders",
               [&](const Json &step, const std::string &where) { reader.step(step, where); });
  return std::move(reader.decoder);
}

} // namespace inf
