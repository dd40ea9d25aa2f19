#include "runtime/tokenizer/PreTokenizerJson.h"

#include "runtime/base/Error.h"
#include "runtime/tokenizer/Quote.h"

namespace inf {
namespace {

// What ByteLevel splits by when its use_regex is true: the pattern of GPT-2.
constexpr std::string_view gpt2Pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

constexpr size_t stageLimit = 16; // no known model has more than 4; each is a level of recursion

struct Reader {
  std::vector<SplitPattern> patterns;
  bool byteLevelSeen = false;
  size_t stages = 0;

  void stage(const Json &json, const std::string &where, bool insideSequence) {
    FieldReader object(json, where);
    std::string type = object.text("type");
    if (++stages > stageLimit)
      fail(ErrorCode::BadInput, "tokenizer.json: {} has more than {} stages", where, stageLimit);
    if (byteLevelSeen)
      fail(ErrorCode::BadInput,
           "tokenizer.json: {} {} comes after ByteLevel, expected ByteLevel to be the last stage; "
           "this order is not implemented",
           where, quote(type));
    if (type == "Sequence" && !insideSequence)
      sequence(object);
    else if (type == "Split")
      splitStage(object);
    else if (type == "ByteLevel")
      byteLevel(object);
    else
      fail(ErrorCode::BadInput,
           "tokenizer.json: {} has type {}, expected Split, ByteLevel or one Sequence of them; "
           "this type is not implemented",
           where, quote(type));
  }

  void sequence(const FieldReader &object) {
    object.onlyKeys({"type", "pretokenizers"});
    const Json &list = object.need("pretokenizers");
    if (!list.is_array())
      fail(ErrorCode::BadInput, "tokenizer.json: {} is a {}, expected an array",
           object.path("pretokenizers"), list.type_name());
    for (size_t i = 0; i < list.size(); ++i)
      stage(list[i], fmt::format("{}[{}]", object.path("pretokenizers"), i), true);
  }

  void splitStage(const FieldReader &object) {
    object.onlyKeys({"type", "pattern", "behavior", "invert"});
    std::string behavior = object.text("behavior");
    if (behavior != "Isolated")
      fail(ErrorCode::BadInput, "tokenizer.json: {} is {}, expected \"Isolated\"; not implemented",
           object.path("behavior"), quote(behavior));
    object.mustBe("invert", false);
    FieldReader pattern(object.need("pattern"), object.path("pattern"));
    pattern.onlyKeys({"Regex"});
    patterns.emplace_back(pattern.text("Regex"));
  }

  void byteLevel(const FieldReader &object) {
    object.onlyKeys({"type", "add_prefix_space", "trim_offsets", "use_regex"});
    // Missing means true in this format, so the key has to be there.
    if (object.boolean("add_prefix_space", true))
      fail(ErrorCode::BadInput, "tokenizer.json: {} is true, expected false; not implemented",
           object.path("add_prefix_space"));
    if (object.boolean("use_regex", true))
      patterns.emplace_back(gpt2Pattern);
    byteLevelSeen = true;
  }
};

} // namespace

std::vector<SplitPattern> readPreTokenizer(const Json &json) {
  Reader reader;
  reader.stage(json, "pre_tokenizer", false);
  if (!reader.byteLevelSeen)
    fail(ErrorCode::BadInput, "tokenizer.json: pre_tokenizer has no ByteLevel stage, expected one "
                              "at its end; only byte-level vocabularies are implemented");
  return std::move(reader.patterns);
}

} // namespace inf
