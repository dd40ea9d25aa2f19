#include "runtime/tokenizer/PreTokenizerJson.h"

#include "runtime/base/Error.h"
#include "runtime/tokenizer/PatternJson.h"
#include "runtime/tokenizer/Quote.h"

namespace inf {
namespace {

// What ByteLevel splits by when its use_regex is true: the pattern of GPT-2.
constexpr std::string_view gpt2Pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
// Words and runs of other visible characters. The set is `\w` of UTS #18, which PCRE2's is not.
constexpr std::string_view wordPattern =
    R"([\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\x{200c}\x{200d}]+|[^\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\x{200c}\x{200d}\s]+)";
// Unicode's punctuation, and what ASCII counts as such though Unicode calls it a symbol.
constexpr std::string_view punctuationPattern = R"([\p{P}\x{24}\x{2b}<=>\x{5e}`\x{7c}~])";

SplitBehavior readBehavior(const FieldReader &object, SplitBehavior otherwise) {
  constexpr std::pair<std::string_view, SplitBehavior> behaviors[] = {
      {"Removed", SplitBehavior::Removed},
      {"Isolated", SplitBehavior::Isolated},
      {"MergedWithPrevious", SplitBehavior::MergedWithPrevious},
      {"MergedWithNext", SplitBehavior::MergedWithNext},
      {"Contiguous", SplitBehavior::Contiguous},
  };
  if (!object.get("behavior"))
    return otherwise;
  std::string name = object.text("behavior");
  for (const auto &[known, behavior] : behaviors)
    if (known == name)
      return behavior;
  object.refuse("behavior", name,
                "Removed, Isolated, MergedWithPrevious, MergedWithNext or Contiguous");
}

SplitStage regexStage(std::string_view regex, SplitBehavior behavior, bool invert = false) {
  return {TextPattern::regex(regex), behavior, invert};
}

SplitStage splitStage(const FieldReader &object) {
  object.onlyKeys({"type", "pattern", "behavior", "invert"});
  object.need("behavior");
  return {readPattern(object, "pattern"), readBehavior(object, SplitBehavior::Isolated),
          object.boolean("invert", false)};
}

SplitStage digitsStage(const FieldReader &object) {
  object.onlyKeys({"type", "individual_digits"});
  return regexStage(object.boolean("individual_digits", false) ? R"(\p{N})" : R"(\p{N}+)",
                    SplitBehavior::Isolated);
}

SplitStage punctuationStage(const FieldReader &object) {
  object.onlyKeys({"type", "behavior"});
  return regexStage(punctuationPattern, readBehavior(object, SplitBehavior::Isolated));
}

SplitStage delimiterStage(const FieldReader &object) {
  object.onlyKeys({"type", "delimiter"});
  return {TextPattern::literal(object.text("delimiter")), SplitBehavior::Removed, false};
}

PrependScheme readScheme(const FieldReader &object) {
  bool prefix = object.boolean("add_prefix_space", true); // what older files have instead
  std::string name = object.get("prepend_scheme") ? object.text("prepend_scheme")
                     : prefix                     ? "always"
                                                  : "never";
  if (name == "never")
    return PrependScheme::Never;
  if (!prefix)
    object.refuse("prepend_scheme", name, "\"never\", as add_prefix_space is false");
  if (name == "always")
    return PrependScheme::Always;
  if (name == "first")
    return PrependScheme::First;
  object.refuse("prepend_scheme", name, "always, first or never");
}

MetaspaceStage metaspaceStage(const FieldReader &object) {
  object.onlyKeys(
      {"type", "replacement", "prepend_scheme", "split", "add_prefix_space", "str_rep"});
  MetaspaceStage stage{object.text("replacement"), readScheme(object),
                       object.boolean("split", true)};
  if (stage.replacement.empty())
    object.refuse("replacement", "", "one character");
  if (object.get("str_rep") && object.text("str_rep") != stage.replacement)
    object.refuse("str_rep", object.text("str_rep"), "the same as replacement");
  return stage;
}

struct Reader {
  PreTokenizerStages read;

  void stage(const Json &json, const std::string &where) {
    FieldReader object(json, where);
    std::string type = object.text("type");
    if (read.byteLevel)
      fail(ErrorCode::BadInput,
           "tokenizer.json: {} {} comes after ByteLevel, expected ByteLevel to be the last stage; "
           "this order is not implemented. Compile with --no-tokenizer to run token ids",
           where, quote(type));
    if (type == "ByteLevel")
      byteLevel(object);
    else
      read.stages.add(otherStage(object, type));
  }

  static PreTokenizer::Stage otherStage(const FieldReader &object, const std::string &type) {
    if (type == "Split")
      return splitStage(object);
    if (type == "Metaspace")
      return metaspaceStage(object);
    if (type == "Digits")
      return digitsStage(object);
    if (type == "Punctuation")
      return punctuationStage(object);
    if (type == "CharDelimiterSplit")
      return delimiterStage(object);
    if (type == "Whitespace" || type == "WhitespaceSplit")
      object.onlyKeys({"type"});
    if (type == "Whitespace")
      return regexStage(wordPattern, SplitBehavior::Removed, /*invert=*/true);
    if (type == "WhitespaceSplit")
      return regexStage(R"(\s)", SplitBehavior::Removed);
    object.refuse("type", type,
                  "ByteLevel, Split, Metaspace, Digits, Punctuation, Whitespace, WhitespaceSplit, "
                  "CharDelimiterSplit or one Sequence of them");
  }

  void byteLevel(const FieldReader &object) {
    object.onlyKeys({"type", "add_prefix_space", "trim_offsets", "use_regex"});
    if (object.boolean("add_prefix_space", true))
      read.stages.add(PrefixSpaceStage());
    if (object.boolean("use_regex", true))
      read.stages.add(regexStage(gpt2Pattern, SplitBehavior::Isolated));
    read.byteLevel = true;
  }
};

} // namespace

PreTokenizerStages readPreTokenizer(const Json &json) {
  Reader reader;
  forEachStage(json, "pre_tokenizer", "pretokenizers",
               [&](const Json &stage, const std::string &where) { reader.stage(stage, where); });
  return std::move(reader.read);
}

} // namespace inf
