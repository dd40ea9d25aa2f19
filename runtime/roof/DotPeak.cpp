#include "runtime/roof/DotPeak.h"

#include <chrono>

#include <immintrin.h>

namespace inf {
namespace {

using Clock = std::chrono::steady_clock;

// Latency of 4 to 6 cycles times two units: twelve independent sums keep both busy, and with two
// operands they fit into the sixteen registers of AVX2.
constexpr unsigned sums = 12;
constexpr double sampleSeconds = 0.05;
// About a millisecond of dot products between two looks at the clock.
constexpr uint64_t roundsPerCall = 200'000;

// Makes the values unknown to the compiler, which would else see that all sums are equal and keep
// one; at the end, that they are unused and keep none. No instruction comes of it.
template <typename Vector> [[gnu::always_inline]] inline void hide(Vector (&total)[sums]) {
#pragma GCC unroll 12
  for (Vector &sum : total)
    asm volatile("" : "+v"(sum));
}

__attribute__((target("avx512f,avx512vnni"))) void int8Avx512Vnni(uint64_t rounds) {
  __m512i total[sums] = {};
  hide(total);
  const __m512i x = _mm512_set1_epi8(3), w = _mm512_set1_epi8(-2);
  for (; rounds != 0; --rounds)
#pragma GCC unroll 12
    for (unsigned i = 0; i < sums; ++i)
      total[i] = _mm512_dpbusd_epi32(total[i], x, w);
  hide(total);
}

__attribute__((target("avx2,avxvnni"))) void int8AvxVnni(uint64_t rounds) {
  __m256i total[sums] = {};
  hide(total);
  const __m256i x = _mm256_set1_epi8(3), w = _mm256_set1_epi8(-2);
  for (; rounds != 0; --rounds)
#pragma GCC unroll 12
    for (unsigned i = 0; i < sums; ++i)
      total[i] = _mm256_dpbusd_avx_epi32(total[i], x, w);
  hide(total);
}

__attribute__((target("avx2"))) void int8Avx2(uint64_t rounds) {
  __m256i total[sums] = {};
  hide(total);
  __m256i x = _mm256_set1_epi8(3);
  const __m256i w = _mm256_set1_epi8(-2), ones = _mm256_set1_epi16(1);
  for (; rounds != 0; --rounds)
#pragma GCC unroll 12
    for (unsigned i = 0; i < sums; ++i) {
      asm("" : "+x"(x)); // another value, as far as the compiler knows: else it multiplies once
      const __m256i pairs = _mm256_madd_epi16(_mm256_maddubs_epi16(x, w), ones);
      total[i] = _mm256_add_epi32(total[i], pairs);
    }
  hide(total);
}

__attribute__((target("avx512f"))) void f32Avx512(uint64_t rounds) {
  __m512 total[sums] = {};
  hide(total);
  const __m512 x = _mm512_set1_ps(1.5f), w = _mm512_set1_ps(0.5f);
  for (; rounds != 0; --rounds)
#pragma GCC unroll 12
    for (unsigned i = 0; i < sums; ++i)
      total[i] = _mm512_fmadd_ps(x, w, total[i]);
  hide(total);
}

__attribute__((target("avx2,fma"))) void f32Avx2(uint64_t rounds) {
  __m256 total[sums] = {};
  hide(total);
  const __m256 x = _mm256_set1_ps(1.5f), w = _mm256_set1_ps(0.5f);
  for (; rounds != 0; --rounds)
#pragma GCC unroll 12
    for (unsigned i = 0; i < sums; ++i)
      total[i] = _mm256_fmadd_ps(x, w, total[i]);
  hide(total);
}

__attribute__((target("avx512f,avx512bf16"))) void bf16Avx512(uint64_t rounds) {
  __m512 total[sums] = {};
  hide(total);
  const auto x = (__m512bh)_mm512_set1_epi32(0x3fc03fc0); // 1.5
  const auto w = (__m512bh)_mm512_set1_epi32(0x3f003f00); // 0.5
  for (; rounds != 0; --rounds)
#pragma GCC unroll 12
    for (unsigned i = 0; i < sums; ++i)
      total[i] = _mm512_dpbf16_ps(total[i], x, w);
  hide(total);
}

// Tiles: four sums hide a latency of 52 cycles behind products of 16 each; two tiles of rows and
// two of weights, as a kernel would hold them.
constexpr unsigned tileSums = 4;

/// Eight tiles of 16 rows of 64 bytes (Intel SDM volume 1, 18.2).
struct alignas(64) TileShapes {
  uint8_t palette = 1, startRow = 0, reserved[14] = {};
  uint16_t rowBytes[8] = {64, 64, 64, 64, 64, 64, 64, 64}, unusedBytes[8] = {};
  uint8_t rows[8] = {16, 16, 16, 16, 16, 16, 16, 16}, unusedRows[8] = {};
};

/// What is multiplied: numbers of both signs between 0.5 and 2 as bf16, some bytes or other as
/// int8. Multiplying zeros takes less power, so the clock stays higher than any model lets it: 2.8
/// against 2.3 GHz on Emerald Rapids.
struct alignas(64) TileNumbers {
  uint16_t words[16 * 32] = {};
  constexpr TileNumbers() {
    uint32_t state = 1;
    for (uint16_t &word : words) {
      state = state * 1664525 + 1013904223; // Numerical Recipes' generator
      word = static_cast<uint16_t>(0x3F00 | (state >> 16 & 0x80FF));
    }
  }
};

[[gnu::always_inline, gnu::target("amx-tile")]] inline void beginTiles() {
  static constexpr TileShapes shapes;
  static constexpr TileNumbers numbers;
  _tile_loadconfig(&shapes);
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  _tile_loadd(4, numbers.words, 64);
  _tile_loadd(5, numbers.words, 64);
  _tile_loadd(6, numbers.words, 64);
  _tile_loadd(7, numbers.words, 64);
}

__attribute__((target("amx-tile,amx-int8"))) void int8Tiles(uint64_t rounds) {
  beginTiles();
  for (; rounds != 0; --rounds) {
    _tile_dpbssd(0, 4, 6);
    _tile_dpbssd(1, 4, 7);
    _tile_dpbssd(2, 5, 6);
    _tile_dpbssd(3, 5, 7);
  }
  _tile_release();
}

__attribute__((target("amx-tile,amx-bf16"))) void bf16Tiles(uint64_t rounds) {
  beginTiles();
  for (; rounds != 0; --rounds) {
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
  }
  _tile_release();
}

constexpr uint64_t operations(uint64_t lanes) { return sums * lanes * 2; }
constexpr uint64_t tileOperations(uint64_t columns) { return tileSums * 16 * 16 * columns * 2; }

DotLoop int8DotLoop(FeatureSet features) {
  if (features.has(Feature::AMXTILE) && features.has(Feature::AMXINT8))
    return {"tdpbssd", &int8Tiles, tileOperations(64)};
  if (features.has(Feature::AVX512VNNI))
    return {"vpdpbusd zmm", &int8Avx512Vnni, operations(64)};
  if (features.has(Feature::AVXVNNI))
    return {"vpdpbusd ymm", &int8AvxVnni, operations(32)};
  if (features.has(Feature::AVX2))
    return {"vpmaddubsw ymm", &int8Avx2, operations(32)};
  return {"none", nullptr, 0};
}

DotLoop bf16DotLoop(FeatureSet features) {
  if (features.has(Feature::AMXTILE) && features.has(Feature::AMXBF16))
    return {"tdpbf16ps", &bf16Tiles, tileOperations(32)};
  if (features.has(Feature::AVX512BF16))
    return {"vdpbf16ps zmm", &bf16Avx512, operations(32)};
  return {"none", nullptr, 0};
}

DotLoop f32DotLoop(FeatureSet features) {
  if (features.has(Feature::AVX512F))
    return {"vfmadd zmm", &f32Avx512, operations(16)};
  if (features.has(Feature::AVX2) && features.has(Feature::FMA))
    return {"vfmadd ymm", &f32Avx2, operations(8)};
  return {"none", nullptr, 0};
}

} // namespace

DotLoop dotLoop(DotKind kind, FeatureSet features) {
  switch (kind) {
  case DotKind::Int8:
    return int8DotLoop(features);
  case DotKind::Bf16:
    return bf16DotLoop(features);
  case DotKind::F32:
    break;
  }
  return f32DotLoop(features);
}

std::array<DotLoop, dotKinds> dotLoops(FeatureSet features) {
  return {int8DotLoop(features), bf16DotLoop(features), f32DotLoop(features)};
}

double measureDotPeak(ThreadPool &pool, const DotLoop &loop) {
  if (!loop.run)
    return 0;
  auto call = [](void *arg, unsigned) { static_cast<const DotLoop *>(arg)->run(roundsPerCall); };
  DotLoop copy = loop;
  const Clock::time_point start = Clock::now();
  double operationsDone = 0, seconds = 0;
  while (seconds < sampleSeconds) {
    pool.run(call, &copy);
    operationsDone += static_cast<double>(loop.operationsPerRound) * roundsPerCall * pool.size();
    seconds = std::chrono::duration<double>(Clock::now() - start).count();
  }
  return operationsDone / seconds;
}

} // namespace inf
