#include "tests/codegen/TileEmulation.h"

#include <array>
#include <bit>
#include <cstring>

#include <immintrin.h>

namespace inf::test {
namespace {

constexpr size_t mostRows = 16, mostBytes = 64;

struct EmulatedTile {
  unsigned rows = 0, rowBytes = 0; ///< of the configuration
  std::array<std::array<uint8_t, mostBytes>, mostRows> bytes{};

  template <typename T> T at(size_t row, size_t index) const {
    T value;
    std::memcpy(&value, &bytes[row][index * sizeof(T)], sizeof(T));
    return value;
  }
  template <typename T> void set(size_t row, size_t index, T value) {
    std::memcpy(&bytes[row][index * sizeof(T)], &value, sizeof(T));
  }
};

/// What TILERELEASE returns to.
struct TileState {
  std::array<uint8_t, 64> configuration{};
  std::array<EmulatedTile, 8> tiles;
};

// A handler gets at a thread's tiles only by this; the CPU keeps them per thread too.
thread_local TileState state;
thread_local uint64_t executedCount = 0;

bool configured() { return state.configuration[0] != 0; }

/// Rows and bytes of a tile in a configuration: 16-bit bytes from 16, rows from 48.
EmulatedTile shapeOf(const uint8_t *configuration, size_t tile) {
  EmulatedTile shape;
  shape.rowBytes = configuration[16 + 2 * tile] + 256u * configuration[17 + 2 * tile];
  shape.rows = configuration[48 + tile];
  return shape;
}

/// Palette 1, start row 0, reserved bytes 0, and shapes within 16 rows of 64 bytes, both 0 or none.
bool isValid(const uint8_t *configuration) {
  if (configuration[0] != 1 || configuration[1] != 0)
    return false;
  for (size_t i = 2; i < 64; ++i)
    if ((i < 16 || (i >= 32 && i < 48) || i >= 56) && configuration[i] != 0)
      return false;
  for (size_t tile = 0; tile < 8; ++tile) {
    const EmulatedTile shape = shapeOf(configuration, tile);
    if (shape.rows > mostRows || shape.rowBytes > mostBytes || shape.rowBytes % 4 != 0 ||
        (shape.rows == 0) != (shape.rowBytes == 0))
      return false;
  }
  return true;
}

bool loadConfiguration(const uint8_t *from) {
  if (from[0] == 0) {
    state = {};
    return true;
  }
  if (!isValid(from))
    return false;
  std::memcpy(state.configuration.data(), from, 64);
  for (size_t tile = 0; tile < 8; ++tile)
    state.tiles[tile] = shapeOf(from, tile);
  return true;
}

/// A configured tile, or none.
EmulatedTile *tileOf(unsigned number) {
  return configured() && number < 8 && state.tiles[number].rows != 0 ? &state.tiles[number]
                                                                     : nullptr;
}

bool load(EmulatedTile *tile, const VexInstruction &from) {
  if (!tile)
    return false;
  tile->bytes = {};
  for (size_t row = 0; row < tile->rows; ++row)
    std::memcpy(tile->bytes[row].data(), reinterpret_cast<void *>(from.base + row * from.stride),
                tile->rowBytes);
  return true;
}

bool store(const EmulatedTile *tile, const VexInstruction &to) {
  if (!tile)
    return false;
  for (size_t row = 0; row < tile->rows; ++row)
    std::memcpy(reinterpret_cast<void *>(to.base + row * to.stride), tile->bytes[row].data(),
                tile->rowBytes);
  return true;
}

bool zero(EmulatedTile *tile) {
  if (!tile)
    return false;
  tile->bytes = {};
  return true;
}

/// sums[m][n] += a[m][4 k + i] * b[k][4 n + i], modulo 2^32.
template <typename A, typename B>
void dotBytes(EmulatedTile &sums, const EmulatedTile &a, const EmulatedTile &b) {
  for (size_t m = 0; m < sums.rows; ++m)
    for (size_t n = 0; n < sums.rowBytes / 4; ++n) {
      uint32_t sum = sums.at<uint32_t>(m, n);
      for (size_t k = 0; k < b.rows; ++k)
        for (size_t i = 0; i < 4; ++i)
          sum += static_cast<uint32_t>(int{a.at<A>(m, 4 * k + i)} * int{b.at<B>(k, 4 * n + i)});
      sums.set(m, n, sum);
    }
}

/// Denormals count as zero, read and written, as long as this lives; what they meet is behind a
/// call that the compiler can't look into.
class ZeroDenormals {
public:
  ZeroDenormals() : before(_mm_getcsr()) { _mm_setcsr(0x1F80 | 0x8040); }
  ~ZeroDenormals() { _mm_setcsr(before); }
  ZeroDenormals(const ZeroDenormals &) = delete;
  ZeroDenormals &operator=(const ZeroDenormals &) = delete;

private:
  const unsigned before;
};

float bf16At(const uint8_t *row, size_t index) {
  uint16_t bits;
  std::memcpy(&bits, row + 2 * index, 2);
  return std::bit_cast<float>(uint32_t{bits} << 16);
}

/// A row of sums, each in the order the manual gives, by the FMAs of this CPU, which know best when
/// a result is too small to be normal: once it is rounded.
[[gnu::noipa, gnu::target("avx2,fma")]] void dotBf16Row(uint8_t *sums, const uint8_t *a,
                                                        const EmulatedTile &b, size_t columns) {
  float even[16] = {}, odd[16] = {}, total[16] = {};
  std::memcpy(total, sums, columns * sizeof(float));
  for (size_t k = 0; k < b.rows; ++k) {
    const float evenX = bf16At(a, 2 * k), oddX = bf16At(a, 2 * k + 1);
    const uint8_t *weights = b.bytes[k].data();
    for (size_t n = 0; n < 16; ++n) {
      even[n] = __builtin_fmaf(evenX, bf16At(weights, 2 * n), even[n]);
      odd[n] = __builtin_fmaf(oddX, bf16At(weights, 2 * n + 1), odd[n]);
    }
  }
  for (size_t n = 0; n < 16; ++n)
    total[n] = total[n] + (even[n] + odd[n]);
  std::memcpy(sums, total, columns * sizeof(float));
}

/// sums[m][n] += even + odd, each a chain over k; denormals are zeros.
void dotBf16(EmulatedTile &sums, const EmulatedTile &a, const EmulatedTile &b) {
  const ZeroDenormals scope;
  for (size_t m = 0; m < sums.rows; ++m)
    dotBf16Row(sums.bytes[m].data(), a.bytes[m].data(), b, sums.rowBytes / 4);
}

/// Sums in reg, the first factor in rm, the second in vvvv: three different tiles whose shapes fit.
bool dot(const VexInstruction &instruction) {
  EmulatedTile *sums = tileOf(instruction.reg);
  const EmulatedTile *a = tileOf(instruction.rm), *b = tileOf(instruction.vvvv);
  if (!sums || !a || !b || sums == a || sums == b || a == b || sums->rows != a->rows ||
      sums->rowBytes != b->rowBytes || a->rowBytes / 4 != b->rows)
    return false;
  if (instruction.opcode == 0x5C) {
    if (instruction.prefix != 2)
      return false;
    dotBf16(*sums, *a, *b);
    return true;
  }
  constexpr decltype(&dotBytes<int8_t, int8_t>) byPrefix[] = {
      dotBytes<uint8_t, uint8_t>, dotBytes<uint8_t, int8_t>, dotBytes<int8_t, uint8_t>,
      dotBytes<int8_t, int8_t>};
  byPrefix[instruction.prefix](*sums, *a, *b);
  return true;
}

/// Opcode 49 in memory: prefix none loads, 66 stores a configuration. In registers: TILERELEASE,
/// or with F2 TILEZERO.
bool configureOrClear(const VexInstruction &instruction) {
  auto *memory = reinterpret_cast<uint8_t *>(instruction.base + instruction.stride);
  if (instruction.hasMemory && instruction.prefix == 0)
    return loadConfiguration(memory);
  if (instruction.hasMemory && instruction.prefix == 1) {
    std::memcpy(memory, state.configuration.data(), 64);
    return true;
  }
  if (!instruction.hasMemory && instruction.prefix == 3)
    return zero(tileOf(instruction.reg));
  if (instruction.hasMemory || instruction.prefix != 0 || instruction.reg != 0)
    return false;
  state = {};
  return true;
}

/// Opcode 4B: F2 and 66 (TILELOADDT1) load, F3 stores.
bool move(const VexInstruction &instruction) {
  if (!instruction.hasMemory || instruction.prefix == 0)
    return false;
  EmulatedTile *tile = tileOf(instruction.reg);
  return instruction.prefix == 2 ? store(tile, instruction) : load(tile, instruction);
}

bool emulateTiles(const VexInstruction &instruction, ucontext_t &) {
  if (instruction.map != 2 || instruction.wide || instruction.ymm)
    return false;
  const bool isDot = instruction.opcode == 0x5E || instruction.opcode == 0x5C;
  const bool done = instruction.opcode == 0x49   ? configureOrClear(instruction)
                    : instruction.opcode == 0x4B ? move(instruction)
                    : isDot                      ? !instruction.hasMemory && dot(instruction)
                                                 : false;
  executedCount += done ? 1 : 0;
  return done;
}

} // namespace

TileEmulation::TileEmulation() : handler(emulateTiles) {
  state = {};
  executedCount = 0;
}

uint64_t TileEmulation::executed() const { return executedCount; }
bool TileEmulation::isConfigured() const { return configured(); }

} // namespace inf::test
