// Token ids to text as they come, for showing an answer while it is made.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/tokenizer/Tokenizer.h"

namespace inf {

/// Where the tokens stand: some tokenizers leave out the space before the first word of a text.
enum class TextPlace { Start, Continuation };

/// Every piece returned is well-formed UTF-8; all pieces joined, finish() included, are the
/// well-formed form of what decode() gives for all tokens: each maximal ill-formed subpart is one
/// U+FFFD. A character split over tokens is held back (at most 3 bytes) until it is whole.
class Detokenizer {
public:
  /// `tokenizerToUse` must outlive this object.
  explicit Detokenizer(const Tokenizer &tokenizerToUse,
                       SpecialOutput specialOutput = SpecialOutput::Skip,
                       TextPlace textPlace = TextPlace::Start)
      : tokenizer(tokenizerToUse), specials(specialOutput), place(textPlace), state(begin()) {}

  /// The text that token `id` completes, perhaps empty. Fails with BadInput for an id without a
  /// token, and then changes nothing.
  std::string push(int32_t id);

  /// What was held back, as U+FFFD; afterwards the object is as new.
  std::string finish();

private:
  DecodeState begin() const {
    return place == TextPlace::Start ? DecodeState() : DecodeState::continuing();
  }

  const Tokenizer &tokenizer;
  SpecialOutput specials;
  TextPlace place;
  DecodeState state;
  std::string pending; ///< bytes of an unfinished character
};

} // namespace inf
