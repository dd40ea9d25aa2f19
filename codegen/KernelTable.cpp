// What the generators can build, and what selection should prefer.
#include <fmt/format.h>

#include "codegen/KernelSpec.h"

namespace inf {

static constexpr std::string_view avx512Rows =
    "8 rows: 16 of 32 registers hold sums, and row pointers fill the 15 general registers";
static constexpr std::string_view avx2Rows =
    "2 rows: their sums take 8 of 16 registers; 4 rows would take all of them";
static constexpr std::string_view kvRows = "one row's heads that share a kv head";

const std::vector<KernelChoice> &kernelTable() {
  using enum WeightFormat;
  static const std::vector<KernelChoice> table = {
      {KernelOp::Linear, KernelIsa::Avx512, MXFP4, 8, avx512Rows},
      {KernelOp::Linear, KernelIsa::Avx512, BF16, 8, avx512Rows},
      {KernelOp::Linear, KernelIsa::Avx512, F16, 8, avx512Rows},
      {KernelOp::Linear, KernelIsa::Avx512, F32, 8, avx512Rows},
      {KernelOp::Linear, KernelIsa::Avx2, MXFP4, 2, avx2Rows},
      {KernelOp::Linear, KernelIsa::Avx2, BF16, 2, avx2Rows},
      {KernelOp::Linear, KernelIsa::Avx2, F16, 2, avx2Rows},
      {KernelOp::Linear, KernelIsa::Avx2, F32, 2, avx2Rows},
      {KernelOp::Attention, KernelIsa::Avx512, BF16, 1, kvRows},
      {KernelOp::Attention, KernelIsa::Avx512, F32, 1, kvRows},
      {KernelOp::Attention, KernelIsa::Avx2, BF16, 1, kvRows},
      {KernelOp::Attention, KernelIsa::Avx2, F32, 1, kvRows},
  };
  return table;
}

static unsigned mostRows(KernelIsa isa) { return isa == KernelIsa::Avx512 ? 8 : 2; }

static std::optional<std::string> whyNotLinear(const KernelSpec &spec) {
  const unsigned most = mostRows(spec.isa);
  if (spec.rows == 0 || spec.rows > most || (spec.rows & (spec.rows - 1)) != 0)
    return fmt::format("rows is {}, expected a power of two of at most {}, what the registers hold",
                       spec.rows, most);
  if (static_cast<uint32_t>(spec.weights) >= weightFormatNames.size())
    return fmt::format("unknown weight format {}", static_cast<uint32_t>(spec.weights));
  return std::nullopt;
}

static std::optional<std::string> whyNotAttention(const KernelSpec &spec) {
  if (spec.kv != WeightFormat::F32 && spec.kv != WeightFormat::BF16)
    return fmt::format("KV elements are {}, expected f32 or bf16", weightFormatName(spec.kv));
  if (spec.headDim < 16 || spec.headDim > 256 || spec.headDim % 16 != 0)
    return fmt::format("head_dim is {}, expected a multiple of 16 from 16 to 256", spec.headDim);
  if (spec.group < 1 || spec.group > 16)
    return fmt::format("{} query heads share a kv head, expected 1 to 16", spec.group);
  const bool powerOfTwo = (spec.blockTokens & (spec.blockTokens - 1)) == 0;
  if (spec.blockTokens < 16 || spec.blockTokens > 4096 || !powerOfTwo)
    return fmt::format("a block holds {} tokens, expected a power of two from 16 to 4096",
                       spec.blockTokens);
  return std::nullopt;
}

std::optional<std::string> whyNotGenerable(const KernelSpec &spec) {
  return spec.op == KernelOp::Linear ? whyNotLinear(spec) : whyNotAttention(spec);
}

/// Whole zmm registers and AVX512F alone; AVX for vzeroupper. On AVX2, dense kernels without an
/// activation only load, broadcast and multiply (AVX, FMA); integer work in ymm is AVX2.
FeatureSet kernelFeatures(const KernelSpec &spec) {
  const FeatureSet base = FeatureSet{}.with(Feature::AVX);
  if (spec.isa == KernelIsa::Avx512)
    return base.with(Feature::AVX512F);
  FeatureSet features = base.with(Feature::FMA);
  const bool linear = spec.op == KernelOp::Linear;
  if (linear && spec.weights == WeightFormat::F16)
    features = features.with(Feature::F16C);
  const bool integerDecode =
      spec.weights == WeightFormat::BF16 || spec.weights == WeightFormat::MXFP4;
  if (!linear || integerDecode || spec.activation != Activation::None)
    features = features.with(Feature::AVX2);
  return features;
}

} // namespace inf
