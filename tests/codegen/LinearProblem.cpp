#include "tests/codegen/LinearProblem.h"

#include <bit>
#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/abi/ActivationRows.h"
#include "tests/codegen/PackedWeights.h"
#include "tests/codegen/Reference.h"

namespace inf::test {
namespace {

std::vector<float> normals(size_t count, float width, std::mt19937 &random) {
  std::normal_distribution<float> normal(0, width);
  std::vector<float> values(count);
  for (float &value : values)
    value = normal(random);
  return values;
}

std::vector<uint8_t> bytesOf(const std::vector<float> &values) {
  std::vector<uint8_t> bytes(values.size() * 4);
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

void put16(std::vector<uint8_t> &bytes, size_t index, uint32_t bits) {
  bytes[2 * index] = static_cast<uint8_t>(bits);
  bytes[2 * index + 1] = static_cast<uint8_t>(bits >> 8);
}

/// Upper halves, and a 0 beside an odd last column.
std::vector<uint8_t> bf16BytesOf(const std::vector<float> &values) {
  std::vector<uint8_t> bytes((values.size() + 1) / 2 * 4);
  for (size_t i = 0; i < values.size(); ++i)
    put16(bytes, i, std::bit_cast<uint32_t>(values[i]) >> 16);
  return bytes;
}

} // namespace

LinearProblem::LinearProblem(const KernelSpec &spec, LinearShape problemShape, unsigned seed)
    : shape(problemShape), inputs(spec.inputs), amxSpec(spec) {
  amxSpec.isa = KernelIsa::Amx;
  std::mt19937 random(seed);
  const size_t halves = spec.activation == Activation::None ? 1 : 2;
  const size_t packed = stride() * halves;
  weights.resize(weightBytes(spec.weights, packed * packedColumnsOf(spec, shape.columns)));
  fillWeights(spec.weights, random);
  if (inputs == InputFormat::BF16)
    clearPadding();
  bias = normals(packed, 1, random);
  scale = normals(packed, 1, random);
  for (int64_t r = 0; r < shape.rows; ++r) {
    addInputRow(random);
    addend.push_back(normals(packed, 1, random));
    residual.push_back(normals(stride(), 1, random));
  }
}

/// Beside an odd last column are zeros.
void LinearProblem::clearPadding() {
  const size_t columns = static_cast<size_t>(shape.columns), panelBytes = (columns + 1) / 2 * 64;
  if (columns % 2 == 0)
    return;
  for (size_t panel = 0; panel < weights.size(); panel += panelBytes)
    for (size_t output = 0; output < 16; ++output)
      put16(weights, (panel + panelBytes - 64) / 2 + 2 * output + 1, 0);
}

/// Floats; or any codes, and scales of which some are 0.
void LinearProblem::addInputRow(std::mt19937 &random) {
  const auto columns = static_cast<size_t>(shape.columns);
  if (inputs != InputFormat::Q8) {
    x.push_back(normals(columns, 1, random));
    return;
  }
  std::uniform_int_distribution<int> code(-127, 127);
  std::vector<int8_t> row(columns);
  for (int8_t &each : row)
    each = static_cast<int8_t>(code(random));
  codes.push_back(std::move(row));
  codeScales.push_back(normals(columns / 32, 0.01f, random));
  for (float &each : codeScales.back())
    each = random() % 16 == 0 ? 0.0f : each;
}

/// Rows of q8 end with their last block, bf16 ones with their last pair: padding behind is no
/// kernel's to read.
std::vector<uint8_t> LinearProblem::inputBytes(size_t row) const {
  switch (inputs) {
  case InputFormat::F32:
    return bytesOf(x[row]);
  case InputFormat::BF16:
    return bf16BytesOf(x[row]);
  case InputFormat::Q8:
    break;
  }
  return q8Bytes(row);
}

std::vector<uint8_t> LinearProblem::q8Bytes(size_t row) const {
  const uint64_t blocksOffset = q8BlocksOffset(codes[row].size());
  std::vector<uint8_t> bytes(blocksOffset + codeScales[row].size() * sizeof(Q8Block), 0xA5);
  std::memcpy(bytes.data(), codes[row].data(), codes[row].size());
  for (size_t b = 0; b < codeScales[row].size(); ++b) {
    Q8Block block{codeScales[row][b], 0};
    for (size_t k = 32 * b; k < 32 * b + 32; ++k)
      block.minus16Sum -= 16 * codes[row][k];
    std::memcpy(&bytes[blocksOffset + b * sizeof block], &block, sizeof block);
  }
  return bytes;
}

/// Any finite half up to 16: exponent field 0..18, denormals included.
static uint32_t anyHalf(std::mt19937 &random) { return (random() & 0x83FF) | random() % 19 << 10; }

void LinearProblem::fillWeights(WeightFormat format, std::mt19937 &random) {
  if (isBlockFormat(format))
    return fillBlocks(format, random);
  const size_t count = weights.size() / weightBytes(format, 1);
  const std::vector<float> values = normals(count, 0.5f, random);
  for (size_t i = 0; i < count; ++i) {
    if (format == WeightFormat::F32)
      std::memcpy(&weights[4 * i], &values[i], 4);
    else if (format == WeightFormat::BF16)
      put16(weights, i, std::bit_cast<uint32_t>(values[i]) >> 16);
    else
      put16(weights, i, anyHalf(random));
  }
}

/// Any codes; scales and minimums of moderate size.
void LinearProblem::fillBlocks(WeightFormat format, std::mt19937 &random) {
  const size_t blockBytes = weightBytes(format, 16 * 32), scales = codeBytes(format);
  for (size_t i = 0; i < weights.size(); ++i)
    weights[i] = static_cast<uint8_t>(
        format == WeightFormat::MXFP4 && i % blockBytes >= scales ? 117 + random() % 16 : random());
  if (format == WeightFormat::MXFP4)
    return;
  for (size_t i = 0; i < weights.size(); i += 2)
    if (i % blockBytes >= scales)
      put16(weights, i / 2, anyHalf(random));
}

/// Whole cache lines that end at a page nobody may touch, and full of what would show where a
/// kernel reads what it hasn't written: NaN.
uint8_t *LinearProblem::newScratch() {
  const auto bytes = linearScratchBytes(amxSpec, shape.rows, shape.columns);
  scratch = std::make_unique<GuardedBytes>(
      std::vector<uint8_t>(static_cast<size_t>(bytes), uint8_t{0xFF}));
  return const_cast<uint8_t *>(scratch->data());
}

const LinearArgs &LinearProblem::argsInto(std::vector<float> &out) {
  guardedWeights = std::make_unique<GuardedBytes>(weights);
  guardedX.clear();
  xRows.clear(), addendRows.clear(), residualRows.clear(), yRows.clear();
  const auto rows = static_cast<size_t>(shape.rows);
  out.resize(stride() * rows);
  for (size_t r = 0; r < rows; ++r) {
    guardedX.push_back(std::make_unique<GuardedBytes>(inputBytes(r)));
    xRows.push_back(guardedX.back()->data());
    addendRows.push_back(addend[r].data());
    residualRows.push_back(residual[r].data());
    yRows.push_back(out.data() + r * stride());
  }
  args = {guardedWeights->data(),
          xRows.data(),
          yRows.data(),
          bias.data(),
          scale.data(),
          addendRows.data(),
          residualRows.data(),
          shape.rows,
          shape.panels,
          shape.columns,
          7.0f,
          1.702f,
          newScratch()};
  return args;
}

const LinearArgs &LinearProblem::argsInPlace(std::vector<float> &out) {
  argsInto(out);
  for (size_t r = 0; r < yRows.size(); ++r) {
    std::copy(residual[r].begin(), residual[r].end(), yRows[r]);
    residualRows[r] = yRows[r];
  }
  return args;
}

std::vector<float> runLinear(const KernelSpec &spec, LinearProblem &problem) {
  std::vector<float> out;
  ExecutableKernel kernel(spec);
  kernel(problem.argsInto(out));
  return out;
}

std::vector<float> orderedOutputs(const KernelSpec &spec, const LinearProblem &problem) {
  std::vector<float> outputs;
  for (int64_t r = 0; r < problem.shape.rows; ++r)
    for (int64_t p = 0; p < problem.shape.panels; ++p)
      for (unsigned n = 0; n < 16; ++n)
        outputs.push_back(orderedLinear(spec, problem.args, r, p, n));
  return outputs;
}

std::string traceOf(const KernelSpec &spec, LinearShape shape, unsigned seed) {
  return kernelSymbol(spec) + " rows " + std::to_string(shape.rows) + " panels " +
         std::to_string(shape.panels) + " columns " + std::to_string(shape.columns) + " seed " +
         std::to_string(seed);
}

void checkAgainstReferences(const KernelSpec &spec, LinearShape shape, unsigned seed) {
  SCOPED_TRACE(traceOf(spec, shape, seed));
  LinearProblem problem(spec, shape, seed);
  const std::vector<float> out = runLinear(spec, problem);
  const std::vector<float> ordered = orderedOutputs(spec, problem);
  for (size_t i = 0; i < ordered.size(); ++i) {
    const auto column = static_cast<int64_t>(i) % (shape.panels * 16);
    const Exact exact =
        exactLinear(spec, problem.args, static_cast<int64_t>(i) / (shape.panels * 16), column / 16,
                    static_cast<unsigned>(column % 16));
    ASSERT_NEAR(ordered[i], exact.value, exact.bound);
  }
  ASSERT_THAT(bitsOf(out), testing::ElementsAreArray(bitsOf(ordered)));
}

std::vector<uint32_t> bitsOf(const std::vector<float> &values) {
  std::vector<uint32_t> bits;
  for (float value : values)
    bits.push_back(std::bit_cast<uint32_t>(value));
  return bits;
}

} // namespace inf::test
