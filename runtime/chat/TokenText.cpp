#include "runtime/chat/TokenText.h"

#include <random>

#include <fmt/format.h>

#include "runtime/base/Error.h"

namespace inf {

std::string_view tokenText(const Tokenizer &tokenizer, int32_t id) {
  try {
    return tokenizer.tokenBytes(id);
  } catch (const Error &) {
    return "\xEF\xBF\xBD";
  }
}

bool isControl(const Tokenizer &tokenizer, int32_t id) {
  try {
    return tokenizer.isSpecial(id);
  } catch (const Error &) {
    return false;
  }
}

std::string randomCallPrefix() {
  std::random_device device;
  return fmt::format("call_{:08x}{:08x}", device(), device());
}

} // namespace inf
