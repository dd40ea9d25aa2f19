// Well-formed UTF-8: where a sequence ends, and what is not one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace inf {

enum class Utf8Kind {
  Valid,      ///< one whole code point
  Invalid,    ///< bytes that no continuation can make well formed
  Incomplete, ///< the text ends inside a sequence that was fine so far
};

struct Utf8Sequence {
  Utf8Kind kind;
  size_t length; ///< bytes; for Invalid and Incomplete the maximal subpart, at least 1
};

/// The sequence at the start of `bytes` (not empty). Table 3-7 of the Unicode Standard decides what
/// is well formed: no overlong forms, no surrogates, nothing above U+10FFFF.
Utf8Sequence firstSequence(std::string_view bytes);

/// The code point of one Valid sequence, which is all of `sequence`.
uint32_t codePointOf(std::string_view sequence);

/// Where the last character of `bytes` (not empty) begins: a Valid sequence that ends there, or the
/// last byte.
size_t lastSequence(std::string_view bytes);

/// Bytes of the longest well-formed prefix.
size_t validPrefix(std::string_view bytes);

/// Bytes at the start that belong to no code point: the distance to the next Valid sequence.
size_t invalidPrefix(std::string_view bytes);

/// Moves everything but an Incomplete tail from `pending` to the result; each maximal subpart of an
/// ill-formed sequence becomes one U+FFFD (Unicode Standard, 3.9, "U+FFFD Substitution of Maximal
/// Subparts").
std::string takeWellFormed(std::string &pending);

/// The whole of `bytes` as well-formed UTF-8; an Incomplete tail becomes U+FFFD as well.
std::string toWellFormed(std::string_view bytes);

} // namespace inf
