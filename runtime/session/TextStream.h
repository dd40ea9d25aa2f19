// Tokens to text that can be shown: whole characters, without stop strings.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/session/StopStrings.h"
#include "runtime/tokenizer/Detokenizer.h"

namespace inf {

class TextStream {
public:
  /// The text goes on from a prompt: the space before its first word stays. `tokenizer` must
  /// outlive this object. Fails with Usage for an empty stop string.
  TextStream(const Tokenizer &tokenizer, std::vector<std::string> stopStrings,
             SpecialOutput specials);

  /// What can be shown after this token, perhaps nothing. An id without a token (a padding row of
  /// the embedding, which untrained models do choose) shows as U+FFFD.
  std::string push(int32_t id);
  std::string finish();
  bool stopped() const { return stops.stopped(); }

private:
  Detokenizer detokenizer;
  StopStrings stops;
};

} // namespace inf
