#include "runtime/trace/StageReader.h"

#include <cstring>
#include <vector>

#include "runtime/abi/ActivationRows.h"
#include "runtime/format/NumberFormats.h"

namespace inf {
namespace {

void decodeQ8(const uint8_t *vector, std::vector<float> &values) {
  const uint64_t features = values.size();
  for (uint64_t i = 0; i < features; ++i) {
    Q8Block block;
    std::memcpy(&block, vector + q8BlocksOffset(features) + i / blockColumns * sizeof(Q8Block),
                sizeof block);
    values[i] = float(int8_t(vector[i])) * block.scale;
  }
}

void decodeBf16(const uint8_t *vector, std::vector<float> &values) {
  for (uint64_t i = 0; i < values.size(); ++i) {
    uint16_t half;
    std::memcpy(&half, vector + i * 2, 2);
    values[i] = bf16ToF32(half);
  }
}

void decode(const StageOutput &output, const uint8_t *vector, std::vector<float> &values) {
  if (output.type == "q8")
    return decodeQ8(vector, values);
  if (output.type == "bf16")
    return decodeBf16(vector, values);
  for (uint64_t i = 0; i < values.size(); ++i) {
    int32_t number;
    std::memcpy(&number, vector + i * 4, 4);
    std::memcpy(&values[i], vector + i * 4, 4);
    if (output.type == "i32")
      values[i] = float(number);
  }
}

/// Bytes that mean something: padding is never written.
std::vector<std::pair<uint64_t, uint64_t>> usedRanges(const StageOutput &output) {
  if (output.type != "q8")
    return {{0, output.features * (output.type == "bf16" ? 2 : 4)}};
  return {{0, output.features},
          {q8BlocksOffset(output.features), output.features / blockColumns * sizeof(Q8Block)}};
}

} // namespace

uint64_t stageRows(const StageOutput &output, const inf_step &step) {
  if (output.offset == StageOutput::logits && !step.logits)
    return 0;
  return output.outputRows ? step.output_rows : step.rows;
}

void readStageOutput(const StageOutput &output, const inf_step &step, uint32_t logitsStride,
                     const std::function<void(std::span<const uint8_t> bytes,
                                              std::span<const float> values)> &vector) {
  const bool logits = output.offset == StageOutput::logits;
  const auto *base =
      logits ? reinterpret_cast<const uint8_t *>(step.logits) : step.arena + output.offset;
  const uint64_t stride = logits ? uint64_t{logitsStride} * 4 : output.vectorBytes();
  const auto ranges = usedRanges(output);
  std::vector<float> values(output.features);
  std::vector<uint8_t> bytes;
  for (uint64_t i = 0; i < stageRows(output, step) * output.vectors; ++i) {
    const uint8_t *at = base + i * stride;
    decode(output, at, values);
    bytes.clear();
    for (const auto &[begin, count] : ranges)
      bytes.insert(bytes.end(), at + begin, at + begin + count);
    vector(bytes, values);
  }
}

} // namespace inf
