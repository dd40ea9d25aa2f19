// Rewriting text by Unicode's rules, for normalizers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace inf {

enum class UnicodeForm : uint8_t {
  NFC,
  NFD,
  NFKC,
  NFKD,         ///< the normalization forms of UAX #15
  Lowercase,    ///< each character by itself (SpecialCasing.txt without conditions)
  StripAccents, ///< drops marks (M), which accents are after NFD
};

/// `text` in that form; bytes that are not UTF-8 stay as they are. O(n log n) for any text. The
/// data are those of utf8proc's Unicode version.
std::string toForm(UnicodeForm form, std::string_view text);

/// Bytes of white space (White_Space of the Unicode Character Database) at the start, and at the
/// end; bytes that are not UTF-8 are none.
size_t whiteSpacePrefix(std::string_view text);
size_t whiteSpaceSuffix(std::string_view text);

/// A character of words, as `\w` of UTS #18: alphabetic, marks, decimal digits, connectors,
/// joiners.
bool isWordCharacter(uint32_t codePoint);

} // namespace inf
