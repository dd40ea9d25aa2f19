// A tokenizer.json small enough to change by hand.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

namespace inf::test {

/// Token i < 256 is the byte i; then "he" 256, "ll" 257, "hell" 258, "hello" 259 (of merges), "aa"
/// 260, "aaaa" 261; "<|end|>" 300 is special, "<tool>" 301 added. Pieces: letters, or others.
nlohmann::json smallJson();

/// How the byte is written in the byte-level alphabet.
std::string alphabetOf(int byte);

} // namespace inf::test
