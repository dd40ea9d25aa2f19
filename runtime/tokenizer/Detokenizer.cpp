#include "runtime/tokenizer/Detokenizer.h"

#include <utility>

#include "runtime/tokenizer/Utf8.h"

namespace inf {

std::string Detokenizer::push(int32_t id) {
  if (specials == SpecialOutput::Skip && tokenizer.isSpecial(id))
    return {};
  tokenizer.decodeNext(id, state, pending);
  return takeWellFormed(pending);
}

std::string Detokenizer::finish() {
  state = begin();
  return toWellFormed(std::exchange(pending, {}));
}

} // namespace inf
