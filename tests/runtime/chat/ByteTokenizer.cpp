#include "tests/runtime/chat/ByteTokenizer.h"

#include <fmt/format.h>

namespace inf::test {
namespace {

std::string base64OfByte(unsigned byte) {
  constexpr char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  return {digits[byte >> 2], digits[(byte & 3) << 4], '=', '='};
}

} // namespace

Tokenizer byteTokenizer(const std::vector<std::string> &controls) {
  std::string ranks;
  for (unsigned byte = 0; byte < 256; ++byte)
    ranks += fmt::format("{} {}\n", base64OfByte(byte), byte);
  std::vector<SpecialToken> specials;
  for (const std::string &control : controls)
    specials.push_back({control, static_cast<int32_t>(256 + specials.size())});
  return Tokenizer::fromRanks(ranks, "[\\s\\S]+", specials);
}

} // namespace inf::test
