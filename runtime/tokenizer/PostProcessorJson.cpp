#include "runtime/tokenizer/PostProcessorJson.h"

#include "runtime/base/Error.h"
#include "runtime/tokenizer/PatternJson.h"
#include "runtime/tokenizer/Quote.h"

namespace inf {
namespace {

constexpr size_t mostTokens = 64; // around one text; known models have one or two

struct Template {
  const TokenTable &tokens;
  TokensAround around{};
  bool textSeen = false;

  void piece(const FieldReader &object, const Json &json, const std::string &where) {
    FieldReader piece(json, where);
    if (piece.get("SpecialToken")) {
      piece.onlyKeys({"SpecialToken"});
      FieldReader token(piece.need("SpecialToken"), piece.path("SpecialToken"));
      return special(object, token.text("id"));
    }
    piece.onlyKeys({"Sequence"});
    FieldReader sequence(piece.need("Sequence"), piece.path("Sequence"));
    if (sequence.text("id") != "A" || textSeen)
      fail(ErrorCode::BadInput,
           "tokenizer.json: {} is not the only place for one text, \"A\"; such a template is not "
           "implemented",
           where);
    textSeen = true;
  }

  void special(const FieldReader &object, const std::string &name) {
    FieldReader all(object.need("special_tokens"), object.path("special_tokens"));
    FieldReader token(all.need(name.c_str()), all.path(name.c_str()));
    std::vector<int32_t> &side = textSeen ? around.after : around.before;
    for (const Json &json : token.array("ids", mostTokens)) {
      int64_t id = integerOf(json, token.path("ids"));
      if (id < 0 || id >= tokens.size() || tokens.kind(int32_t(id)) == TokenKind::None)
        fail(ErrorCode::BadInput, "tokenizer.json: {} has id {}, which no token has",
             token.path("ids"), id);
      side.push_back(int32_t(id));
    }
  }
};

TokensAround readTemplate(const FieldReader &object, const TokenTable &tokens) {
  object.onlyKeys({"type", "single", "pair", "special_tokens"}); // pairs of texts are never encoded
  Template reading{tokens};
  const Json &list = object.array("single", mostTokens);
  for (size_t i = 0; i < list.size(); ++i)
    reading.piece(object, list[i], fmt::format("{}[{}]", object.path("single"), i));
  if (!reading.textSeen)
    fail(ErrorCode::BadInput, "tokenizer.json: {} has no place for the text",
         object.path("single"));
  return std::move(reading.around);
}

} // namespace

TokensAround readPostProcessor(const Json &json, const TokenTable &tokens) {
  TokensAround around;
  forEachStage(
      json, "post_processor", "processors", [&](const Json &step, const std::string &where) {
        FieldReader object(step, where);
        std::string type = object.text("type");
        if (type == "TemplateProcessing") {
          TokensAround more = readTemplate(object, tokens);
          around.before.insert(around.before.begin(), more.before.begin(), more.before.end());
          around.after.insert(around.after.end(), more.after.begin(), more.after.end());
        } else if (type == "ByteLevel") {
          object.onlyKeys({"type", "add_prefix_space", "trim_offsets", "use_regex"});
        } else {
          object.refuse("type", type, "TemplateProcessing, ByteLevel or one Sequence of them");
        }
      });
  return around;
}

} // namespace inf
