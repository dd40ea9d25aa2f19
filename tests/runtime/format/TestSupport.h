// What the tests of this folder share: a folder that goes away, weights in memory, and matchers for
// refusals.
#pragma once

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "runtime/base/Error.h"
#include "runtime/format/NumberFormats.h"
#include "runtime/format/Pack.h"
#include "runtime/format/WeightSource.h"

namespace inf::test {

class TempFolder {
public:
  TempFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "inf-format-XXXXXX").string();
    if (!mkdtemp(name.data()))
      throw std::runtime_error("mkdtemp failed: " + name);
    path = name;
  }
  ~TempFolder() { std::filesystem::remove_all(path); }
  std::string operator/(const std::string &name) const { return (path / name).string(); }
  std::vector<std::string> names() const {
    std::vector<std::string> result;
    for (const auto &entry : std::filesystem::directory_iterator(path))
      result.push_back(entry.path().filename().string());
    return result;
  }
  std::filesystem::path path;
};

inline std::vector<uint8_t> readBytes(const std::string &path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline void writeBytes(const std::string &path, const void *data, size_t bytes) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out.write(static_cast<const char *>(data), std::streamsize(bytes));
}
inline void writeBytes(const std::string &path, const std::vector<uint8_t> &bytes) {
  writeBytes(path, bytes.data(), bytes.size());
}
inline void writeBytes(const std::string &path, const std::string &bytes) {
  writeBytes(path, bytes.data(), bytes.size());
}

/// `action` must fail with `code` and a message that holds every one of `parts`.
inline void expectFailure(ErrorCode code, const std::vector<std::string> &parts,
                          const std::function<void()> &action) {
  try {
    action();
    ADD_FAILURE() << "nothing was refused";
  } catch (const Error &error) {
    EXPECT_EQ(int(error.code), int(code)) << error.what();
    for (const std::string &part : parts)
      EXPECT_THAT(error.what(), testing::HasSubstr(part));
  }
}

class MemorySource : public WeightSource {
public:
  void read(const std::string &tensor, uint64_t offset, std::span<uint8_t> out) const override {
    const auto &bytes = tensors.at(tensor);
    if (offset > bytes.size() || out.size() > bytes.size() - offset)
      fail(ErrorCode::BadInput, "read outside of '{}'", tensor);
    std::memcpy(out.data(), bytes.data() + offset, out.size());
  }
  std::map<std::string, std::vector<uint8_t>> tensors;
};

/// One weight, its checkpoint bytes, and what it must read as.
struct SampleWeight {
  WeightDecl decl;
  MemorySource source;
  std::vector<float> logical; ///< [experts][rows][columns]
};

struct SampleShape {
  WeightFormat stored = WeightFormat::BF16;
  uint64_t experts = 1, rows = 16, columns = 32;
  bool transposed = false, interleaved = false;
  bool oneTensor = false; ///< MXFP4 as GGUF keeps it; other block formats have no other form
};

inline float decodeDense(WeightFormat format, const uint8_t *bytes) {
  if (format == WeightFormat::F32) {
    float value;
    std::memcpy(&value, bytes, 4);
    return value;
  }
  uint16_t value;
  std::memcpy(&value, bytes, 2);
  return format == WeightFormat::F16 ? f16ToF32(value) : bf16ToF32(value);
}

inline void encodeDense(WeightFormat format, float value, uint8_t *bytes) {
  const uint16_t narrow = format == WeightFormat::F16 ? f32ToF16(value) : f32ToBf16(value);
  if (format == WeightFormat::F32)
    std::memcpy(bytes, &value, 4);
  else
    std::memcpy(bytes, &narrow, 2);
}

/// Random blocks as GGUF has them: every code, f16 scales of either sign.
inline void addSampleBlocks(WeightFormat format, uint64_t blocks, std::vector<uint8_t> &bytes,
                            std::mt19937_64 &random) {
  const uint64_t halves = format == WeightFormat::INT4A ? 2 : format == WeightFormat::MXFP4 ? 0 : 1;
  for (uint64_t block = 0; block < blocks; ++block) {
    if (halves == 0)
      bytes.push_back(uint8_t(random() % 253));
    for (uint64_t i = 0; i < halves; ++i) {
      const uint16_t half = f32ToF16(float(int64_t(random() % 8192) - 4096) / 1024);
      bytes.push_back(uint8_t(half));
      bytes.push_back(uint8_t(half >> 8));
    }
    for (uint64_t i = 0; i < (format == WeightFormat::INT8 ? 32 : 16); ++i)
      bytes.push_back(uint8_t(random()));
  }
}

/// Value `index` of a tensor of such blocks, by GGUF's definition.
inline float decodeSampleBlock(WeightFormat format, const std::vector<uint8_t> &bytes,
                               uint64_t index) {
  const uint64_t size = format == WeightFormat::INT8    ? 34
                        : format == WeightFormat::INT4  ? 18
                        : format == WeightFormat::INT4A ? 20
                                                        : 17;
  const uint8_t *block = bytes.data() + index / 32 * size;
  const uint64_t column = index % 32;
  const auto half = [&](uint64_t at) { return f16ToF32(uint16_t(block[at] | block[at + 1] << 8)); };
  if (format == WeightFormat::INT8)
    return float(int8_t(block[2 + column])) * half(0);
  const uint8_t byte = block[size - 16 + column % 16];
  const int code = column < 16 ? byte & 15 : byte >> 4;
  if (format == WeightFormat::MXFP4)
    return mxfp4ToF32(uint8_t(code), block[0]);
  return format == WeightFormat::INT4 ? float(code - 8) * half(0) : float(code) * half(0) + half(2);
}

/// Random values of one tensor of `shape.rows` rows, added as a part of `weight`.
inline void addSamplePart(SampleWeight &weight, const SampleShape &shape, const std::string &name,
                          std::mt19937_64 &random) {
  const auto &[stored, experts, rows, columns, transposed, interleaved, oneTensor] = shape;
  const bool twoTensors = stored == WeightFormat::MXFP4 && !oneTensor;
  weight.decl.parts.push_back(
      {name, twoTensors ? name + "_scales" : "", stored, rows, transposed, interleaved});
  auto &values = weight.source.tensors[name];
  const uint64_t elements = experts * rows * columns;
  if (isBlockFormat(stored) && !twoTensors)
    return addSampleBlocks(stored, elements / 32, values, random);
  auto &scales = weight.source.tensors[name + "_scales"];
  const uint64_t size = stored == WeightFormat::F32 ? 4 : 2;
  values.resize(twoTensors ? elements / 2 : elements * size);
  scales.resize(twoTensors ? elements / 32 : 0);
  for (uint8_t &byte : scales)
    byte = uint8_t(random() % 253);
  for (uint64_t i = 0; i < elements; ++i) {
    if (twoTensors)
      values[i / 2] |= uint8_t(random() % 16 << (i % 2 * 4));
    else
      encodeDense(stored, float(int64_t(random() % 65536) - 32768) / 4096, &values[i * size]);
  }
}

/// What part `part` of the weight holds at (expert, row of the part, column), by the definition.
inline float samplePartValue(const SampleWeight &weight, const WeightPart &part, uint64_t expert,
                             uint64_t row, uint64_t column) {
  const uint64_t columns = weight.decl.columns, half = part.rows / 2;
  const uint64_t stored = !part.interleaved ? row : row < half ? 2 * row : 2 * (row - half) + 1;
  const uint64_t index = part.transposed ? (expert * columns + column) * part.rows + stored
                                         : (expert * part.rows + stored) * columns + column;
  const auto &values = weight.source.tensors.at(part.tensor);
  if (!part.scales.empty())
    return mxfp4ToF32(uint8_t(values[index / 2] >> (index % 2 * 4)),
                      weight.source.tensors.at(part.scales)[index / 32]);
  if (isBlockFormat(part.stored))
    return decodeSampleBlock(part.stored, values, index);
  return decodeDense(part.stored, &values[index * (part.stored == WeightFormat::F32 ? 4 : 2)]);
}

inline void computeLogical(SampleWeight &weight) {
  for (uint64_t expert = 0; expert < weight.decl.experts; ++expert)
    for (const WeightPart &part : weight.decl.parts)
      for (uint64_t row = 0; row < part.rows; ++row)
        for (uint64_t column = 0; column < weight.decl.columns; ++column)
          weight.logical.push_back(samplePartValue(weight, part, expert, row, column));
}

inline SampleWeight makeSample(const SampleShape &shape, std::mt19937_64 &random) {
  SampleWeight weight;
  weight.decl.name = "layers.0.sample";
  weight.decl.experts = shape.experts;
  weight.decl.rows = shape.rows;
  weight.decl.columns = shape.columns;
  addSamplePart(weight, shape, "tensor", random);
  computeLogical(weight);
  return weight;
}

inline std::vector<uint8_t> packAll(const WeightDecl &decl, PackedSpec spec,
                                    const WeightSource &source) {
  std::vector<uint8_t> packed(packedBytes(decl, spec), 0xcc);
  const PackUnits units = packUnits(decl, spec);
  // Backwards: a unit must not lean on the one before it.
  for (uint64_t unit = units.count; unit-- > 0;)
    packUnit(decl, spec, source, unit,
             {packed.data() + unit * units.unitBytes, packUnitBytes(decl, spec, unit)});
  return packed;
}

inline std::vector<float> unpackAll(const WeightDecl &decl, PackedSpec spec,
                                    const std::vector<uint8_t> &packed) {
  std::vector<float> values(decl.experts * decl.rows * decl.columns);
  const uint64_t bytes = packedExpertBytes(decl, spec);
  for (uint64_t expert = 0; expert < decl.experts; ++expert)
    unpackRowsF32(decl, spec, {packed.data() + expert * bytes, bytes}, 0, decl.rows,
                  values.data() + expert * decl.rows * decl.columns);
  return values;
}

inline std::string describe(const SampleWeight &weight, PackedSpec spec) {
  return fmt::format("[{}, {}, {}] stored {} packed {} {}", weight.decl.experts, weight.decl.rows,
                     weight.decl.columns, weightFormatName(weight.decl.parts[0].stored),
                     weightFormatName(spec.format), packedLayoutName(spec.layout));
}

} // namespace inf::test
