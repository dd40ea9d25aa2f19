// Any bytes as a prompt of the small model: encoding and decoding give them back, and so does the
// stream, as well-formed UTF-8.
#include "runtime/tokenizer/Detokenizer.h"
#include "runtime/tokenizer/Tokenizer.h"
#include "runtime/tokenizer/Utf8.h"
#include "tests/fuzz/Fuzz.h"

namespace {

const inf::Tokenizer &smallTokenizer() {
  static const inf::Tokenizer tokenizer =
      inf::Tokenizer::fromJson(inf::test::sourceFile("models/gpt-oss-tiny/tokenizer.json"));
  return tokenizer;
}

} // namespace

extern "C" int LLVMFuzzerInitialize(int *, char ***) {
  smallTokenizer();
  return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  using namespace inf;
  const Tokenizer &tokenizer = smallTokenizer();
  std::string_view text = test::textOf(data, size);
  for (SpecialTokens specials : {SpecialTokens::AsText, SpecialTokens::Allow}) {
    std::vector<int32_t> ids = tokenizer.encode(text, specials);
    test::require(tokenizer.decode(ids) == text, "decoding gives another text");
    Detokenizer stream(tokenizer, SpecialOutput::Show);
    std::string streamed;
    for (int32_t id : ids) {
      std::string piece = stream.push(id);
      test::require(validPrefix(piece) == piece.size(), "a streamed piece is no UTF-8");
      streamed += piece;
    }
    streamed += stream.finish();
    test::require(streamed == toWellFormed(text), "the stream gives another text");
  }
  // Ids that no tokenizer gave: each is either refused or shown.
  Detokenizer any(tokenizer);
  for (size_t i = 0; i + 2 <= size; i += 2)
    test::accepts([&] { any.push(int32_t(data[i]) << 8 | data[i + 1]); });
  any.finish();
  return 0;
}
