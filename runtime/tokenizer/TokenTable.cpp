#include "runtime/tokenizer/TokenTable.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "runtime/base/Error.h"
#include "runtime/tokenizer/Quote.h"

namespace inf {

uint64_t hashBytes(std::string_view bytes) {
  constexpr uint64_t odd = 0x9E3779B97F4A7C15u; // 2^64 / golden ratio: bits spread by multiplying
  uint64_t hash = odd ^ bytes.size();
  auto mix = [&](uint64_t word) {
    hash = (hash ^ word) * odd;
    hash ^= hash >> 32;
  };
  size_t at = 0;
  for (; at + 8 <= bytes.size(); at += 8) {
    uint64_t word;
    std::memcpy(&word, bytes.data() + at, 8);
    mix(word);
  }
  uint64_t tail = 0;
  for (; at < bytes.size(); ++at)
    tail = tail << 8 | uint8_t(bytes[at]);
  mix(tail);
  return hash * odd >> 16;
}

void TokenTable::add(int64_t id, std::string_view bytes, TokenKind kind) {
  if (id < 0 || id >= idLimit)
    fail(ErrorCode::BadInput, "token {} has id {}, expected 0 to {}; the vocabulary is broken",
         quote(bytes), id, idLimit - 1);
  if (id < size() && entries[size_t(id)].kind != TokenKind::None)
    fail(ErrorCode::BadInput,
         "token id {} is given twice, to {} and to {}; the vocabulary is broken", id,
         quote(this->bytes(int32_t(id))), quote(bytes));
  Index &index = kind == TokenKind::Ordinary ? ordinary : whole;
  refuseIn(index, id, bytes);
  if (bytes.size() > std::numeric_limits<uint32_t>::max() - blob.size())
    fail(ErrorCode::BadInput, "the vocabulary holds more than 4 GiB of token bytes");

  if (id >= size())
    entries.resize(size_t(id) + 1);
  entries[size_t(id)] = {uint32_t(blob.size()), uint32_t(bytes.size()), kind};
  blob.insert(blob.end(), bytes.begin(), bytes.end());
  longest = std::max(longest, bytes.size());
  insert(index, int32_t(id));
}

void TokenTable::addOrdinary(int32_t id) {
  refuseIn(ordinary, id, bytes(id));
  insert(ordinary, id);
}

void TokenTable::refuseKnown(int64_t id, std::string_view bytes) const {
  refuseIn(ordinary, id, bytes);
  refuseIn(whole, id, bytes);
}

void TokenTable::refuseIn(const Index &index, int64_t id, std::string_view bytes) const {
  if (bytes.empty())
    fail(ErrorCode::BadInput, "token {} is empty, expected at least one byte", id);
  if (int32_t other = findIn(index, bytes); other >= 0)
    fail(ErrorCode::BadInput,
         "token {} is given twice, as id {} and as {}; the vocabulary is broken", quote(bytes),
         other, id);
}

int32_t TokenTable::find(std::string_view bytes) const {
  int32_t id = findIn(ordinary, bytes);
  return id >= 0 ? id : findIn(whole, bytes);
}

int32_t TokenTable::findOrdinary(std::string_view bytes) const { return findIn(ordinary, bytes); }

int32_t TokenTable::findIn(const Index &index, std::string_view bytes) const {
  if (bytes.size() > longest || index.slots.empty())
    return -1;
  return index.slots[slotOf(index.slots, bytes)];
}

std::array<int32_t, 256> TokenTable::singleBytes() const {
  std::array<int32_t, 256> ids;
  for (int byte = 0; byte < 256; ++byte) {
    char c = char(byte);
    ids[size_t(byte)] = findOrdinary({&c, 1});
    if (ids[size_t(byte)] < 0)
      fail(ErrorCode::BadInput,
           "the vocabulary has no token for the single byte 0x{:02x}, expected one for each of the "
           "256 bytes; this is not a byte-level vocabulary",
           byte);
  }
  return ids;
}

/// The slot that holds `bytes`, or the free one where they belong.
size_t TokenTable::slotOf(const std::vector<int32_t> &slots, std::string_view bytes) const {
  size_t mask = slots.size() - 1;
  size_t slot = hashBytes(bytes) & mask;
  while (slots[slot] >= 0 && this->bytes(slots[slot]) != bytes)
    slot = (slot + 1) & mask;
  return slot;
}

void TokenTable::insert(Index &index, int32_t id) {
  if (++index.count * 2 > index.slots.size()) {
    std::vector<int32_t> old = std::move(index.slots);
    index.slots.assign(std::max<size_t>(1024, old.size() * 2), -1);
    for (int32_t known : old)
      if (known >= 0)
        index.slots[slotOf(index.slots, bytes(known))] = known;
  }
  index.slots[slotOf(index.slots, bytes(id))] = id;
}

} // namespace inf
