// The byte-level alphabet: how tokenizer.json writes arbitrary bytes as printable characters.
//
// Bytes 33–126, 161–172 and 174–255 stand for the code point of the same number; the other 68, in
// rising order, for U+0100, U+0101, … So a space is written "Ġ" (U+0120).
// Source: the byte-level BPE of GPT-2 (Radford et al. 2019, section 2.2).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace inf {

/// The bytes that `token`, written in the alphabet, stands for; nothing when a character of it is
/// outside of the alphabet.
std::optional<std::string> bytesOfAlphabet(std::string_view token);

} // namespace inf
