// What ldtilecfg reads (Intel SDM volume 1, 18.2): palette 1, bytes of a tile's row from byte 16,
// two each, rows from byte 48.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace inf {

class TileConfiguration {
public:
  static constexpr unsigned rowsAt = 48;

  void setTile(size_t tile, unsigned rows, unsigned rowBytes) {
    bytes[16 + 2 * tile] = static_cast<uint8_t>(rowBytes);
    bytes[rowsAt + tile] = static_cast<uint8_t>(rows);
  }
  /// As a kernel's constant.
  std::vector<uint32_t> words() const {
    std::vector<uint32_t> packed(bytes.size() / 4);
    for (size_t i = 0; i < bytes.size(); ++i)
      packed[i / 4] |= static_cast<uint32_t>(bytes[i]) << (8 * (i % 4));
    return packed;
  }

private:
  std::array<uint8_t, 64> bytes = {1};
};

} // namespace inf
