// How byte-level vocabularies of GGUF files cut text, by the name in tokenizer.ggml.pre.
#pragma once

#include <span>
#include <string_view>

namespace inf {

struct GgufPreTokenizer {
  std::string_view name;
  std::span<const std::string_view> patterns; ///< applied one after the other
  bool thenGpt2;        ///< and then GPT-2's, which is part of the byte-level stage
  bool wholePieceFirst; ///< a piece that is a token is not merged from its bytes
  bool addsBegin;       ///< a text begins with a begin-of-text token where no key says otherwise
  bool normalizes;      ///< to NFC
};

std::span<const GgufPreTokenizer> ggufPreTokenizers();

} // namespace inf
