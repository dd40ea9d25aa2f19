// Token ids to text as they come, for showing an answer while it is made.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/tokenizer/Tokenizer.h"

namespace inf {

/// Every piece returned is well-formed UTF-8; all pieces joined, finish() included, are the
/// well-formed form of the joined bytes of all tokens: each maximal ill-formed subpart is one
/// U+FFFD. A character split over tokens is held back (at most 3 bytes) until it is whole.
class Detokenizer {
public:
  /// `tokenizerToUse` must outlive this object.
  explicit Detokenizer(const Tokenizer &tokenizerToUse,
                       SpecialOutput specialOutput = SpecialOutput::Skip)
      : tokenizer(tokenizerToUse), specials(specialOutput) {}

  /// The text that token `id` completes, perhaps empty. Fails with BadInput for an id without a
  /// token, and then changes nothing.
  std::string push(int32_t id);

  /// What was held back, as U+FFFD; afterwards the object is as new.
  std::string finish();

private:
  const Tokenizer &tokenizer;
  SpecialOutput specials;
  std::string pending; ///< bytes of an unfinished character
};

} // namespace inf
