// A counter-based generator: word w of a tensor (8 bytes at offset 8 w) is the SplitMix64 finalizer
// (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014) of a state that
// steps by the golden ratio from the hash of (seed, tensor name). Elements lie inside of words, so
// each is a function of its own bits alone.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <unordered_map>

#include <xxhash.h>

#include "runtime/base/Error.h"
#include "runtime/format/Blocks.h"
#include "runtime/format/Checked.h"
#include "runtime/format/NumberFormats.h"
#include "runtime/format/WeightSource.h"

namespace inf {
namespace {

/// Codes and Scales: MXFP4 in two tensors. Blocks: a block format in one.
enum class Fill { F32, F16, BF16, Codes, Scales, Blocks };

struct RandomTensor {
  Fill fill = Fill::F32;
  uint64_t bytes = 0;
  uint64_t state = 0;
  float center = 0, amplitude = 0; ///< dense: uniform in [center - amplitude, center + amplitude)
  int exponent = 0;                ///< blocks, scales: they start at 2^exponent
  WeightFormat format = WeightFormat::MXFP4; ///< of blocks

  bool sameAs(const RandomTensor &other) const {
    return fill == other.fill && bytes == other.bytes && center == other.center &&
           amplitude == other.amplitude && exponent == other.exponent && format == other.format;
  }
};

/// Words made at once: 512 bytes stay in registers and the first cache level.
constexpr uint64_t batchWords = 64;
using Words = std::array<uint64_t, batchWords>;

uint64_t randomWord(uint64_t state, uint64_t index) {
  uint64_t z = state + (index + 1) * 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

/// amplitude * integer is exact or rounded once, and centers come with power-of-two amplitudes: no
/// compiler can change a bit by fusing the two operations.
template <typename Integer, typename Out, typename Convert>
void shapeValues(const RandomTensor &tensor, Words &words, uint64_t count, Convert convert) {
  constexpr uint64_t perWord = 8 / sizeof(Integer);
  const float unit = tensor.amplitude * (sizeof(Integer) == 2 ? 0x1p-15f : 0x1p-31f);
  std::array<Integer, batchWords * perWord> integers;
  std::array<Out, batchWords * perWord> values;
  static_assert(sizeof(integers) == sizeof(words) && sizeof(values) == sizeof(words));
  std::memcpy(integers.data(), words.data(), count * 8);
  for (uint64_t i = 0; i < count * perWord; ++i)
    values[i] = convert(tensor.center + unit * float(integers[i]));
  std::memcpy(words.data(), values.data(), count * 8);
}

void makeWords(const RandomTensor &tensor, uint64_t first, uint64_t count, Words &words) {
  for (uint64_t i = 0; i < count; ++i)
    words[i] = randomWord(tensor.state, first + i);
  switch (tensor.fill) {
  case Fill::Codes:
  case Fill::Blocks:
    return;
  case Fill::Scales:
    for (uint64_t i = 0; i < count; ++i)
      words[i] =
          (words[i] & 0x0101010101010101u) + uint64_t(127 + tensor.exponent) * 0x0101010101010101u;
    return;
  case Fill::F32:
    return shapeValues<int32_t, float>(tensor, words, count, [](float x) { return x; });
  case Fill::F16:
    return shapeValues<int16_t, uint16_t>(tensor, words, count, f32ToF16);
  case Fill::BF16:
    return shapeValues<int16_t, uint16_t>(tensor, words, count, finiteF32ToBf16);
  }
}

/// The exponent e such that scales of 2^e * f, where f has the mean square `spread`, and codes of
/// the mean square `codes` give the variance nearest to 1 / columns: within a factor of two.
/// Products of powers of two and small integers only, so that every machine finds the same one.
int exponentFor(double codes, double spread, uint64_t columns) {
  double variance = codes * spread * double(columns); // times columns, wanted: 1
  int exponent = 0;
  for (; variance > 2; variance /= 4)
    --exponent;
  return exponent;
}

/// Scales are 2^e or 2^(e + 1), in equal parts.
int mxfp4Exponent(uint64_t columns) {
  return exponentFor(68.5 / 8, 2.5, columns); // the mean square of uniform E2M1 codes
}

/// Scales are +- 2^e * [1, 2), a mean square of 7/3. Their random sign makes the mean zero, which
/// that of the codes (-1/2) isn't; INT4A has its minimum for that.
int f16Exponent(WeightFormat format, uint64_t columns) {
  const double levels = format == WeightFormat::INT8 ? 256 : 16;
  return exponentFor((levels * levels - 1) / 12, 7.0 / 3, columns);
}

struct BlockScales {
  uint8_t bytes[4];
};

/// The scale bytes of block `block`, of a word of their own.
BlockScales scalesOf(const RandomTensor &tensor, uint64_t block) {
  const uint64_t word = randomWord(~tensor.state, block);
  BlockScales scales = {};
  if (tensor.format == WeightFormat::MXFP4) {
    scales.bytes[0] = uint8_t(127 + tensor.exponent + int(word & 1));
    return scales;
  }
  // Six bits of mantissa: 7.5 * scale, the middle of INT4A's codes, is a value of f16 too.
  const float size = std::ldexp(1 + float(word >> 1 & 63) / 64, tensor.exponent);
  const float scale = word & 1 ? -size : size;
  const uint16_t halves[2] = {f32ToF16(scale), f32ToF16(-7.5f * scale)};
  std::memcpy(scales.bytes, halves, sizeof(halves));
  return scales;
}

/// Writes the scales of all blocks that overlap the range over its random bytes.
void placeScales(const RandomTensor &tensor, uint64_t offset, std::span<uint8_t> out) {
  const uint64_t bytes = blockBytes(tensor.format), end = offset + out.size();
  for (uint64_t block = offset / bytes; block * bytes < end; ++block) {
    const BlockScales scales = scalesOf(tensor, block);
    for (uint64_t i = 0; i < scaleBytes(tensor.format); ++i)
      if (const uint64_t place = block * bytes + i; place >= offset && place < end)
        out[place - offset] = scales.bytes[i];
  }
}

class RandomSource : public WeightSource {
public:
  RandomSource(uint64_t seedValue, const std::vector<WeightDecl> &decls) : seed(seedValue) {
    for (const WeightDecl &decl : decls) {
      if (auto reason = whyMalformed(decl))
        fail(ErrorCode::BadInput, "weight '{}': {}; correct the model's description", decl.name,
             *reason);
      for (const WeightPart &part : decl.parts)
        addPart(decl, part);
    }
  }

  void read(const std::string &tensor, uint64_t offset, std::span<uint8_t> out) const override {
    const auto found = tensors.find(tensor);
    if (found == tensors.end())
      fail(ErrorCode::BadInput,
           "random weights: no tensor '{}', expected one of the {} the model declares", tensor,
           tensors.size());
    if (!rangeInside(offset, out.size(), found->second.bytes))
      fail(ErrorCode::BadInput,
           "random weights: {} bytes at {} of tensor '{}' asked for, expected a range inside its "
           "{} bytes",
           out.size(), offset, tensor, found->second.bytes);
    fill(found->second, offset, out);
    if (found->second.fill == Fill::Blocks)
      placeScales(found->second, offset, out);
  }

private:
  static void fill(const RandomTensor &tensor, uint64_t offset, std::span<uint8_t> out) {
    Words words;
    while (!out.empty()) {
      const uint64_t skip = offset % 8;
      const uint64_t count = std::min((skip + out.size() + 7) / 8, batchWords);
      const uint64_t bytes = std::min<uint64_t>(count * 8 - skip, out.size());
      makeWords(tensor, offset / 8, count, words);
      std::memcpy(out.data(), reinterpret_cast<const uint8_t *>(words.data()) + skip, bytes);
      out = out.subspan(bytes);
      offset += bytes;
    }
  }

  void addPart(const WeightDecl &decl, const WeightPart &part) {
    for (const PartTensors &names : tensorsOf(decl, part))
      addTensors(decl, part, names);
  }

  void addTensors(const WeightDecl &decl, const WeightPart &part, const PartTensors &names) {
    const uint64_t elements = names.experts * part.rows * decl.columns; // whyMalformed: it fits
    if (!isBlockFormat(part.stored))
      return addDense(decl, part, names.tensor, elements);
    RandomTensor tensor;
    tensor.format = part.stored;
    tensor.exponent = part.stored == WeightFormat::MXFP4 ? mxfp4Exponent(decl.columns)
                                                         : f16Exponent(part.stored, decl.columns);
    if (part.scales.empty()) {
      tensor.fill = Fill::Blocks;
      tensor.bytes = weightBytes(part.stored, elements);
      return add(names.tensor, tensor);
    }
    tensor.fill = Fill::Scales;
    tensor.bytes = elements / blockColumns;
    add(names.scales, tensor);
    tensor.fill = Fill::Codes;
    tensor.bytes = elements / 2;
    add(names.tensor, tensor);
  }

  void addDense(const WeightDecl &decl, const WeightPart &part, const std::string &name,
                uint64_t elements) {
    RandomTensor tensor;
    tensor.fill = part.stored == WeightFormat::F32   ? Fill::F32
                  : part.stored == WeightFormat::F16 ? Fill::F16
                                                     : Fill::BF16;
    tensor.bytes = weightBytes(part.stored, elements);
    const bool norm =
        decl.name.find("norm") != std::string::npos || name.find("norm") != std::string::npos;
    tensor.center = decl.isVector() && norm ? 1.0f : 0.0f;
    // A uniform value in [-a, a) has the standard deviation a / sqrt(3).
    tensor.amplitude = decl.isVector() ? 0.125f : float(std::sqrt(3.0 / double(decl.columns)));
    add(name, tensor);
  }

  void add(const std::string &name, RandomTensor tensor) {
    tensor.state = XXH3_64bits_withSeed(name.data(), name.size(), seed);
    const auto [place, added] = tensors.emplace(name, tensor);
    if (!added && !place->second.sameAs(tensor))
      fail(ErrorCode::BadInput,
           "random weights: tensor '{}' is declared twice with different shapes or formats; a "
           "shared tensor must be declared alike",
           name);
  }

  const uint64_t seed;
  std::unordered_map<std::string, RandomTensor> tensors;
};

} // namespace

std::unique_ptr<WeightSource> makeRandomSource(uint64_t seed,
                                               const std::vector<WeightDecl> &decls) {
  return std::make_unique<RandomSource>(seed, decls);
}

} // namespace inf
