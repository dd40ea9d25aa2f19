// What pieces were encoded to before: words repeat.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "runtime/tokenizer/TokenTable.h"

namespace inf {

/// Remembers where in the output of this call a piece's ids are. A direct-mapped table that lives
/// for one call, so no lock is needed and nothing grows.
class PieceCache {
public:
  struct Entry {
    uint32_t idsBegin;
    uint8_t length = 0, idCount; ///< length 0: free
    char bytes[26];
  };

  /// A short text repeats too little to pay for clearing the table.
  explicit PieceCache(size_t textSize) : entries(textSize < 2048 ? 0 : slots) {}

  /// The entry for `piece`, or null when it is not to be cached.
  Entry *slot(std::string_view piece) {
    if (entries.empty() || piece.size() > sizeof Entry::bytes) // longer pieces seldom repeat
      return nullptr;
    return &entries[hashBytes(piece) % slots];
  }

  static bool holds(const Entry &entry, std::string_view piece) {
    return entry.length == piece.size() &&
           std::memcmp(entry.bytes, piece.data(), piece.size()) == 0;
  }

  static void fill(Entry &entry, std::string_view piece, size_t idsBegin, size_t idCount) {
    entry.idsBegin = uint32_t(idsBegin);
    entry.length = uint8_t(piece.size());
    entry.idCount = uint8_t(idCount);
    std::memcpy(entry.bytes, piece.data(), piece.size());
  }

private:
  static constexpr size_t slots = 8192; // holds nearly all of the words of a long English text
  std::vector<Entry> entries;
};

} // namespace inf
