// Tokenizer::fromJson: the tokenizer.json of Hugging Face.
#include "runtime/tokenizer/Tokenizer.h"

#include "runtime/base/Error.h"
#include "runtime/tokenizer/AddedTokensJson.h"
#include "runtime/tokenizer/DecoderJson.h"
#include "runtime/tokenizer/JsonFields.h"
#include "runtime/tokenizer/ModelJson.h"
#include "runtime/tokenizer/NormalizerJson.h"
#include "runtime/tokenizer/PostProcessorJson.h"
#include "runtime/tokenizer/PreTokenizerJson.h"
#include "runtime/tokenizer/TokenizerParts.h"

namespace inf {
namespace {

Json parse(std::string_view text) {
  try {
    return Json::parse(text);
  } catch (const Json::parse_error &error) {
    fail(ErrorCode::BadInput,
         "tokenizer.json: not JSON, broken at byte {} of {}; the file is damaged or cut off",
         error.byte, text.size());
  } catch (const Json::exception &) { // a number that overflows a double
    fail(ErrorCode::BadInput, "tokenizer.json: holds a number that is too large");
  }
}

} // namespace

Tokenizer Tokenizer::fromJson(std::string_view jsonText) {
  const Json json = parse(jsonText);
  FieldReader root(json, "");
  root.onlyKeys({"version", "truncation", "padding", "added_tokens", "normalizer", "pre_tokenizer",
                 "post_processor", "decoder", "model"});
  for (const char *key : {"truncation", "padding"})
    root.mustBeUnset(key);

  auto parts = std::make_unique<TokenizerParts>();
  PreTokenizerStages pre;
  if (const Json *stages = root.get("pre_tokenizer"))
    pre = readPreTokenizer(*stages);
  parts->byteLevel = pre.byteLevel;
  parts->preTokenizer = std::move(pre.stages);
  if (const Json *normalizer = root.get("normalizer"))
    parts->normalizer = readNormalizer(*normalizer);
  parts->decoder = readDecoder(root.need("decoder"), pre.byteLevel);
  readModel(root, readAddedTokens(root, *parts), *parts);
  if (const Json *post = root.get("post_processor")) {
    TokensAround around = readPostProcessor(*post, parts->tokens);
    parts->before = std::move(around.before);
    parts->after = std::move(around.after);
  }
  parts->seal();
  return Tokenizer(std::move(parts));
}

} // namespace inf
