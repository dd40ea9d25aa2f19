// A tokenizer.json. What is accepted gives back every text it encodes.
#include "runtime/tokenizer/Tokenizer.h"
#include "tests/fuzz/Fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  using namespace inf;
  test::accepts([&] {
    Tokenizer tokenizer = Tokenizer::fromJson(test::textOf(data, size));
    for (std::string_view text : {"", "Hello, world 123\n", "\xff<|end|>\xc3\xa9", "aaaaaaaaaaaa"})
      for (SpecialTokens specials : {SpecialTokens::AsText, SpecialTokens::Allow}) {
        std::vector<int32_t> ids = tokenizer.encode(text, specials);
        test::require(tokenizer.decode(ids) == text, "decoding gives another text");
      }
  });
  return 0;
}
