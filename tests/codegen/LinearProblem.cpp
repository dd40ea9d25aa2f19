#include "tests/codegen/LinearProblem.h"

#include <bit>
#include <cstring>

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

} // namespace

LinearProblem::LinearProblem(const KernelSpec &spec, LinearShape problemShape, unsigned seed)
    : shape(problemShape) {
  std::mt19937 random(seed);
  const size_t halves = spec.activation == Activation::None ? 1 : 2;
  const size_t packed = stride() * halves;
  weights.resize(weightBytes(spec.weights, packed * static_cast<size_t>(shape.columns)));
  fillWeights(spec.weights, random);
  bias = normals(packed, 1, random);
  scale = normals(packed, 1, random);
  for (int64_t r = 0; r < shape.rows; ++r) {
    x.push_back(normals(static_cast<size_t>(shape.columns), 1, random));
    addend.push_back(normals(packed, 1, random));
    residual.push_back(normals(stride(), 1, random));
  }
}

void LinearProblem::fillWeights(WeightFormat format, std::mt19937 &random) {
  std::uniform_int_distribution<uint32_t> anyBits;
  if (format == WeightFormat::MXFP4) {
    for (size_t i = 0; i < weights.size(); ++i)
      weights[i] =
          static_cast<uint8_t>(i % 272 < 256 ? anyBits(random) : 117 + anyBits(random) % 16);
    return;
  }
  const size_t count = weights.size() / weightBytes(format, 1);
  const std::vector<float> values = normals(count, 0.5f, random);
  for (size_t i = 0; i < count; ++i) {
    if (format == WeightFormat::F32)
      std::memcpy(&weights[4 * i], &values[i], 4);
    else if (format == WeightFormat::BF16)
      put16(weights, i, std::bit_cast<uint32_t>(values[i]) >> 16);
    else // any finite half up to 16: exponent field 0..18, denormals included
      put16(weights, i, (anyBits(random) & 0x83FF) | anyBits(random) % 19 << 10);
  }
}

const LinearArgs &LinearProblem::argsInto(std::vector<float> &out) {
  guardedWeights = std::make_unique<GuardedBytes>(weights);
  guardedX.clear();
  xRows.clear(), addendRows.clear(), residualRows.clear(), yRows.clear();
  out.resize(stride() * x.size());
  for (size_t r = 0; r < x.size(); ++r) {
    guardedX.push_back(std::make_unique<GuardedBytes>(bytesOf(x[r])));
    xRows.push_back(reinterpret_cast<const float *>(guardedX.back()->data()));
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
          1.702f};
  return args;
}

const LinearArgs &LinearProblem::argsInPlace(std::vector<float> &out) {
  argsInto(out);
  for (size_t r = 0; r < x.size(); ++r) {
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

std::vector<uint32_t> bitsOf(const std::vector<float> &values) {
  std::vector<uint32_t> bits;
  for (float value : values)
    bits.push_back(std::bit_cast<uint32_t>(value));
  return bits;
}

} // namespace inf::test
