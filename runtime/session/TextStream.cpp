#include "runtime/session/TextStream.h"

#include <utility>

#include "runtime/base/Error.h"

namespace inf {

TextStream::TextStream(const Tokenizer &tokenizer, std::vector<std::string> stopStrings,
                       SpecialOutput specials)
    : detokenizer(tokenizer, specials, TextPlace::Continuation), stops(std::move(stopStrings)) {}

std::string TextStream::push(int32_t id) {
  std::string text;
  try {
    text = detokenizer.push(id);
  } catch (const Error &error) {
    if (error.code != ErrorCode::BadInput)
      throw;
    text = detokenizer.finish() + "\xEF\xBF\xBD";
  }
  return stops.push(text);
}

std::string TextStream::finish() {
  std::string shown = stops.push(detokenizer.finish());
  return shown + stops.finish();
}

} // namespace inf
