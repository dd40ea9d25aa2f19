// Token ids and their bytes, both ways.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

namespace inf {

enum class TokenKind : uint8_t {
  None,     ///< a hole: no token has this id
  Ordinary, ///< made by merging
  Added,    ///< always recognised as a whole, but plain text otherwise
  Special,  ///< a control token: recognised only where the caller allows it
};

class TokenTable {
public:
  /// Ids stop here: eight times the largest vocabulary known (262,144), so that one absurd id in a
  /// broken file cannot make us allocate gigabytes.
  static constexpr int32_t idLimit = 1 << 21;

  /// Fails with BadInput for an id outside [0, idLimit), an id given before, no bytes, or bytes
  /// that another token has: an Ordinary one, or, for the other kinds, one that is not Ordinary.
  void add(int64_t id, std::string_view bytes, TokenKind kind);

  /// Makes the Added token `id` one that merging may give as well. Fails with BadInput when another
  /// ordinary token has its bytes.
  void addOrdinary(int32_t id);

  /// Fails with BadInput when `bytes`, meant for token `id`, are empty or those of any token.
  void refuseKnown(int64_t id, std::string_view bytes) const;

  /// Highest id + 1; ids below may be holes.
  int32_t size() const { return int32_t(entries.size()); }
  TokenKind kind(int32_t id) const { return entries[size_t(id)].kind; }
  std::string_view bytes(int32_t id) const {
    const Entry &entry = entries[size_t(id)];
    return {blob.data() + entry.offset, entry.length};
  }

  /// The id with exactly these bytes, an ordinary one if there is one; or -1.
  int32_t find(std::string_view bytes) const;
  /// The same among those that merging may give, so that text never becomes a special token by
  /// chance.
  int32_t findOrdinary(std::string_view bytes) const;

  /// The ordinary token of each single byte. Fails with BadInput when one is missing: then not
  /// every text could be encoded.
  std::array<int32_t, 256> singleBytes() const;

private:
  struct Entry {
    uint32_t offset = 0; ///< into blob
    uint32_t length = 0;
    TokenKind kind = TokenKind::None;
  };

  /// Ids by the hash of their bytes: open addressing, -1 is free; a power of two.
  struct Index {
    std::vector<int32_t> slots;
    size_t count = 0;
  };

  size_t slotOf(const std::vector<int32_t> &slots, std::string_view bytes) const;
  int32_t findIn(const Index &index, std::string_view bytes) const;
  void insert(Index &index, int32_t id);
  void refuseIn(const Index &index, int64_t id, std::string_view bytes) const;

  std::vector<Entry> entries; ///< [size()]
  std::vector<char> blob;     ///< the bytes of all tokens
  Index ordinary, whole;      ///< what merging gives; what is recognised as a whole
  size_t longest = 0;         ///< bytes of the longest token: longer text needs no look-up
};

/// A 64-bit hash of `bytes` for tables in memory (multiply and fold, eight bytes at a time).
uint64_t hashBytes(std::string_view bytes);

} // namespace inf
