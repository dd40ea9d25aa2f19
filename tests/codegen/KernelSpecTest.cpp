#include "codegen/KernelSpec.h"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codegen/Kernel.h"
#include "codegen/Target.h"
#include "runtime/base/Error.h"

namespace inf::test {
namespace {

using testing::HasSubstr;

constexpr KernelIsa allIsas[] = {
    KernelIsa::Avx2,       KernelIsa::AvxVnni,    KernelIsa::Avx512, KernelIsa::Avx512Vnni,
    KernelIsa::Avx512Vbmi, KernelIsa::Avx512Bf16, KernelIsa::Amx};

/// Every combination, whether or not it can be generated.
std::vector<KernelSpec> linearSpecs(KernelIsa isa, WeightFormat format) {
  std::vector<KernelSpec> specs;
  for (InputFormat inputs : {InputFormat::F32, InputFormat::Q8, InputFormat::BF16})
    for (unsigned rows : {1, 2, 3, 4, 6, 8, 16})
      for (unsigned flags = 0; flags < 96; ++flags) {
        KernelSpec spec;
        spec.order = flags >= 48 ? Bf16Order::Groups : Bf16Order::Pairs;
        spec.isa = isa, spec.weights = format, spec.inputs = inputs, spec.rows = rows;
        spec.bias = flags & 1, spec.scale = flags & 2, spec.addend = flags & 4;
        spec.residual = flags & 8, spec.activation = static_cast<Activation>(flags / 16 % 3);
        specs.push_back(spec);
      }
  return specs;
}

std::vector<KernelSpec> attentionSpecs(KernelIsa isa) {
  std::vector<KernelSpec> specs;
  for (WeightFormat kv : {WeightFormat::F32, WeightFormat::BF16})
    for (InputFormat inputs : {InputFormat::F32, InputFormat::BF16})
      for (unsigned headDim : {24, 64, 128})
        for (unsigned group : {1, 2, 3, 5, 7, 8, 9, 16})
          for (unsigned flags = 0; flags < 4; ++flags) {
            KernelSpec spec;
            spec.order = flags & 2 ? Bf16Order::Groups : Bf16Order::Pairs;
            spec.op = KernelOp::Attention, spec.isa = isa, spec.kv = kv, spec.inputs = inputs;
            spec.headDim = headDim, spec.group = group, spec.blockTokens = 32,
            spec.sinks = flags & 1;
            specs.push_back(spec);
          }
  return specs;
}

std::vector<KernelSpec> manySpecs() {
  std::vector<KernelSpec> specs;
  for (KernelIsa isa : allIsas) {
    for (uint32_t format = 0; format < weightFormatNames.size(); ++format)
      for (const KernelSpec &spec : linearSpecs(isa, static_cast<WeightFormat>(format)))
        specs.push_back(spec);
    for (const KernelSpec &spec : attentionSpecs(isa))
      specs.push_back(spec);
  }
  return specs;
}

TEST(KernelSymbol, EveryNameIsUniqueAndParsesBack) {
  std::set<std::string> seen;
  for (const KernelSpec &spec : manySpecs()) {
    const std::string symbol = kernelSymbol(spec);
    EXPECT_TRUE(seen.insert(symbol).second) << symbol;
    const std::optional<KernelSpec> parsed = parseKernelSymbol(symbol);
    ASSERT_TRUE(parsed) << symbol;
    EXPECT_EQ(*parsed, spec) << symbol;
  }
}

TEST(KernelSymbol, SaysEverythingInTheDocumentedOrder) {
  KernelSpec spec;
  spec.weights = WeightFormat::MXFP4, spec.rows = 8, spec.isa = KernelIsa::Avx512;
  spec.bias = spec.residual = true, spec.activation = Activation::SwigluClamped;
  EXPECT_EQ(kernelSymbol(spec), "inf_linear_mxfp4_f32_r8_bias_swigluclamped_residual__avx512");
  spec = {};
  spec.weights = WeightFormat::MXFP4, spec.inputs = InputFormat::Q8, spec.rows = 6;
  spec.bias = true, spec.isa = KernelIsa::Avx512Vnni;
  EXPECT_EQ(kernelSymbol(spec), "inf_linear_mxfp4_q8_r6_bias__avx512vnni");
  spec = {};
  spec.weights = WeightFormat::BF16, spec.inputs = InputFormat::BF16, spec.rows = 6;
  spec.isa = KernelIsa::Avx512Bf16;
  EXPECT_EQ(kernelSymbol(spec), "inf_linear_bf16_bf16_r6__avx512bf16");
  spec.isa = KernelIsa::Amx, spec.rows = 16, spec.order = Bf16Order::Groups, spec.bias = true;
  EXPECT_EQ(kernelSymbol(spec), "inf_linear_bf16_bf16_r16_by32_bias__amx");
  spec = {};
  spec.op = KernelOp::Attention, spec.kv = WeightFormat::BF16, spec.group = 8, spec.sinks = true;
  EXPECT_EQ(kernelSymbol(spec), "inf_attention_bf16_d64_g8_b64_sinks__avx2");
  spec.inputs = InputFormat::BF16, spec.isa = KernelIsa::Avx512Bf16;
  EXPECT_EQ(kernelSymbol(spec), "inf_attention_bf16_d64_g8_b64_sinks_bf16dots__avx512bf16");
  spec.isa = KernelIsa::Amx, spec.order = Bf16Order::Groups;
  EXPECT_EQ(kernelSymbol(spec), "inf_attention_bf16_d64_g8_b64_sinks_bf16dots_by32__amx");
}

TEST(KernelSymbol, OtherNamesDoNotParse) {
  for (const char *name : {"",
                           "inf_",
                           "inf_linear_",
                           "inf_linear_f32",
                           "inf_linear_f32_f32_r__avx2",
                           "inf_linear_f32_f32_r01__avx2",
                           "inf_linear_f32_f32_r2__avx",
                           "inf_linear_f32_f32_r2_avx2",
                           "inf_linear_f32_f32_r2__avx2 ",
                           "inf_linear_f32_f32_r99999999999__avx2",
                           "inf_linear_f32_f32_r-1__avx2",
                           "inf_linear_f32_f32_r2_scale_bias__avx2",
                           "inf_linear_q8_f32_r2__avx2",
                           "inf_linear_f32_bf_r2__avx2",
                           "inf_linear_f32_f16_r2__avx2",
                           "inf_linear_int8_q8_r2__",
                           "inf_linear_int8_q80_r2__avx2",
                           "inf_linear_int8_r2__avx2",
                           "inf_linear_bf16_bf16_r16_by16__amx",
                           "inf_linear_bf16_bf16_r16_bias_by32__amx",
                           "inf_linear_int8_q8_r2__avx512vnni2",
                           "inf_attention_bf16_d64_g8__avx2",
                           "inf_attention_bf16_d64_g8_b64_bf16dots_sinks__avx2",
                           "inf_attention_bf16_d64_g8_b64_f32dots__avx2",
                           "inf_attention_bf16_d64_g8_b64_sinks__sse2",
                           "inf_attention_bf16_d+64_g8_b64__avx2",
                           "memcpy"})
    EXPECT_FALSE(parseKernelSymbol(name)) << name;
}

TEST(WhyNotGenerable, NamesTheValueAndWhatWasExpected) {
  KernelSpec spec;
  spec.rows = 3;
  EXPECT_THAT(whyNotGenerable(spec).value_or(""), HasSubstr("rows is 3"));
  spec.rows = 4; // fits AVX-512 only
  EXPECT_TRUE(whyNotGenerable(spec));
  spec.isa = KernelIsa::Avx512;
  EXPECT_FALSE(whyNotGenerable(spec));

  KernelSpec attention;
  attention.op = KernelOp::Attention;
  EXPECT_FALSE(whyNotGenerable(attention));
  attention.headDim = 76;
  EXPECT_THAT(whyNotGenerable(attention).value_or(""), HasSubstr("head_dim is 76"));
  attention.headDim = 64, attention.group = 17;
  EXPECT_THAT(whyNotGenerable(attention).value_or(""), HasSubstr("17 query heads"));
  attention.group = 8, attention.blockTokens = 48;
  EXPECT_THAT(whyNotGenerable(attention).value_or(""), HasSubstr("48 tokens"));
  attention.blockTokens = 64, attention.kv = WeightFormat::F16;
  EXPECT_THAT(whyNotGenerable(attention).value_or(""), HasSubstr("f16"));
}

TEST(WhyNotGenerable, Bf16DotsNeedABf16Cache) {
  KernelSpec spec;
  spec.op = KernelOp::Attention, spec.inputs = InputFormat::BF16;
  for (KernelIsa isa : {KernelIsa::Avx2, KernelIsa::Avx512, KernelIsa::Avx512Bf16}) {
    spec.isa = isa, spec.kv = WeightFormat::F32;
    EXPECT_THAT(whyNotGenerable(spec).value_or(""), HasSubstr("these are f32"));
    spec.kv = WeightFormat::BF16;
    EXPECT_EQ(whyNotGenerable(spec), std::nullopt);
  }
  spec.isa = KernelIsa::Avx512Vnni;
  EXPECT_THAT(whyNotGenerable(spec).value_or(""), HasSubstr("not for avx512vnni"));
  spec.isa = KernelIsa::Avx2, spec.inputs = InputFormat::Q8;
  EXPECT_THAT(whyNotGenerable(spec).value_or(""), HasSubstr("no q8 dots"));
}

TEST(WhyNotGenerable, AttentionOnTilesNeedsWholeGroupsOfDimensionsAndKeys) {
  KernelSpec spec;
  spec.op = KernelOp::Attention, spec.inputs = InputFormat::BF16, spec.kv = WeightFormat::BF16;
  spec.isa = KernelIsa::Amx;
  EXPECT_THAT(whyNotGenerable(spec).value_or(""), HasSubstr("_by32"));
  spec.order = Bf16Order::Groups;
  EXPECT_EQ(whyNotGenerable(spec), std::nullopt);
  spec.headDim = 80;
  EXPECT_THAT(whyNotGenerable(spec).value_or(""), HasSubstr("head_dim is 80"));
  spec.headDim = 96, spec.blockTokens = 16;
  EXPECT_THAT(whyNotGenerable(spec).value_or(""), HasSubstr("16 tokens"));
  spec.blockTokens = 32;
  EXPECT_EQ(whyNotGenerable(spec), std::nullopt);
  spec.isa = KernelIsa::Avx512Bf16;
  EXPECT_THAT(whyNotGenerable(spec).value_or(""), HasSubstr("not on avx512bf16"));
  spec.isa = KernelIsa::Amx, spec.inputs = InputFormat::F32;
  EXPECT_THAT(whyNotGenerable(spec).value_or(""), HasSubstr("in f32 dots"));
}

TEST(WhyNotGenerable, Q8RowsNeedBlocksAndARowTileThatFits) {
  KernelSpec spec;
  spec.inputs = InputFormat::Q8;
  EXPECT_THAT(whyNotGenerable(spec).value_or(""), HasSubstr("block format"));
  spec.weights = WeightFormat::INT8, spec.rows = 3;
  EXPECT_EQ(whyNotGenerable(spec), std::nullopt);
  spec.rows = 4;
  EXPECT_THAT(whyNotGenerable(spec).value_or(""), HasSubstr("rows is 4"));
  spec.isa = KernelIsa::Avx512Vnni, spec.rows = 6;
  EXPECT_EQ(whyNotGenerable(spec), std::nullopt);
  spec.rows = 7;
  EXPECT_THAT(whyNotGenerable(spec).value_or(""), HasSubstr("1 to 6"));
  spec.isa = KernelIsa::Amx;
  EXPECT_THAT(whyNotGenerable(spec).value_or(""), HasSubstr("rows is 7, expected 16"));
  spec.rows = 16;
  EXPECT_EQ(whyNotGenerable(spec), std::nullopt);
  spec.rows = 0;
  EXPECT_TRUE(whyNotGenerable(spec));
}

TEST(WhyNotGenerable, Bf16RowsNeedBf16WeightsAndARowTileThatFits) {
  KernelSpec spec;
  spec.inputs = InputFormat::BF16;
  EXPECT_THAT(whyNotGenerable(spec).value_or(""), HasSubstr("bf16 weights, these are f32"));
  spec.weights = WeightFormat::BF16, spec.rows = 4;
  EXPECT_EQ(whyNotGenerable(spec), std::nullopt);
  spec.rows = 5;
  EXPECT_THAT(whyNotGenerable(spec).value_or(""), HasSubstr("1 to 4"));
  spec.isa = KernelIsa::Avx512Bf16, spec.rows = 6;
  EXPECT_EQ(whyNotGenerable(spec), std::nullopt);
  spec.rows = 7;
  EXPECT_THAT(whyNotGenerable(spec).value_or(""), HasSubstr("1 to 6"));
  spec.isa = KernelIsa::Avx512Vnni, spec.rows = 6;
  EXPECT_THAT(whyNotGenerable(spec).value_or(""), HasSubstr("avx512bf16"));
}

TEST(WhyNotGenerable, GroupsOf32ColumnsAreSummedOnTilesOrInTheirOrder) {
  KernelSpec spec;
  spec.inputs = InputFormat::BF16, spec.weights = WeightFormat::BF16;
  spec.isa = KernelIsa::Amx, spec.rows = 16;
  EXPECT_THAT(whyNotGenerable(spec).value_or(""), HasSubstr("_by32"));
  spec.order = Bf16Order::Groups;
  EXPECT_EQ(whyNotGenerable(spec), std::nullopt);
  spec.rows = 8;
  EXPECT_THAT(whyNotGenerable(spec).value_or(""), HasSubstr("rows is 8, expected 16"));
  spec.isa = KernelIsa::Avx512;
  EXPECT_THAT(whyNotGenerable(spec).value_or(""), HasSubstr("1 to 4"));
  spec.rows = 4;
  EXPECT_EQ(whyNotGenerable(spec), std::nullopt);
  for (KernelIsa isa : {KernelIsa::Avx2, KernelIsa::Avx512Bf16}) {
    spec.isa = isa;
    EXPECT_THAT(whyNotGenerable(spec).value_or(""), HasSubstr(std::string(kernelIsaName(isa))));
  }
  spec.isa = KernelIsa::Avx512, spec.inputs = InputFormat::F32;
  EXPECT_THAT(whyNotGenerable(spec).value_or(""), HasSubstr("only bf16 rows"));
}

TEST(WhyNotGenerable, AnIsaWithoutADifferenceIsNotAnotherKernel) {
  KernelSpec spec;
  for (KernelIsa isa : {KernelIsa::AvxVnni, KernelIsa::Avx512Vnni, KernelIsa::Avx512Vbmi,
                        KernelIsa::Avx512Bf16, KernelIsa::Amx}) {
    spec = {}, spec.isa = isa;
    EXPECT_THAT(whyNotGenerable(spec).value_or(""), HasSubstr(std::string(kernelIsaName(isa))));
    spec.op = KernelOp::Attention;
    EXPECT_THAT(whyNotGenerable(spec).value_or(""), HasSubstr(std::string(kernelIsaName(isa))));
  }
  spec = {}, spec.isa = KernelIsa::Avx512Vbmi, spec.inputs = InputFormat::Q8;
  spec.weights = WeightFormat::INT4;
  EXPECT_THAT(whyNotGenerable(spec).value_or(""), HasSubstr("avx512vnni"));
}

TEST(GenerateKernel, RefusesWithUsageWhatCannotBeGenerated) {
  KernelSpec spec;
  spec.rows = 16;
  try {
    generateKernel(spec);
    FAIL() << "expected an error";
  } catch (const Error &error) {
    EXPECT_EQ(error.code, ErrorCode::Usage);
  }
}

TEST(GenerateKernel, EverySpecOfTheTestGridFitsTheRegistersOrSaysWhyNot) {
  for (const KernelSpec &spec : manySpecs()) {
    if (whyNotGenerable(spec))
      continue;
    EXPECT_NO_THROW(generateKernel(spec)) << kernelSymbol(spec);
  }
}

TEST(GenerateKernel, TheSameSpecGivesTheSameBytes) {
  KernelSpec spec;
  spec.weights = WeightFormat::MXFP4;
  EXPECT_EQ(generateKernel(spec).bytes, generateKernel(spec).bytes);
}

TEST(KernelTable, EveryRowIsGenerableAndTellsWhy) {
  for (const KernelChoice &choice : kernelTable()) {
    KernelSpec spec;
    spec.op = choice.op, spec.isa = choice.isa, spec.rows = choice.rows;
    spec.weights = spec.kv = choice.format, spec.inputs = choice.inputs;
    spec.order = choice.order;
    EXPECT_EQ(whyNotGenerable(spec), std::nullopt);
    EXPECT_FALSE(choice.why.empty());
  }
}

/// What selection does: the first row whose kernel the features cover.
std::optional<KernelIsa> firstIsaFor(std::string_view target, WeightFormat format,
                                     InputFormat inputs = InputFormat::Q8) {
  const FeatureSet features = targetByName(target).features;
  for (const KernelChoice &choice : kernelTable()) {
    if (choice.op != KernelOp::Linear || choice.inputs != inputs || choice.format != format)
      continue;
    KernelSpec spec;
    spec.isa = choice.isa, spec.weights = format, spec.inputs = choice.inputs;
    spec.rows = choice.rows, spec.order = choice.order;
    if (features.missing(kernelFeatures(spec)).empty())
      return choice.isa;
  }
  return std::nullopt;
}

/// Tiles without products of bf16 do not sum bf16 rows; and no bit is asked for that is not used.
TEST(KernelTable, TilesForBf16RowsNeedTilesAndTheirBf16ProductAlone) {
  using enum Feature;
  KernelSpec spec;
  spec.inputs = InputFormat::BF16, spec.weights = WeightFormat::BF16;
  spec.isa = KernelIsa::Amx, spec.rows = 16, spec.order = Bf16Order::Groups;
  EXPECT_EQ(kernelFeatures(spec).toString(),
            FeatureSet{}.with(AVX).with(AVX512F).with(AMXTILE).with(AMXBF16).toString());
}

TEST(KernelTable, EachMachineGetsTheBestDotProductItHas) {
  EXPECT_EQ(firstIsaFor("sapphirerapids", WeightFormat::MXFP4), KernelIsa::Amx);
  for (WeightFormat format :
       {WeightFormat::MXFP4, WeightFormat::INT8, WeightFormat::INT4, WeightFormat::INT4A})
    EXPECT_EQ(firstIsaFor("amx", format), KernelIsa::Amx);
  EXPECT_EQ(firstIsaFor("znver4", WeightFormat::MXFP4), KernelIsa::Avx512Vbmi);
  EXPECT_EQ(firstIsaFor("znver5", WeightFormat::INT8), KernelIsa::Avx512Vnni);
  EXPECT_EQ(firstIsaFor("cascadelake", WeightFormat::MXFP4), KernelIsa::Avx512Vnni);
  EXPECT_EQ(firstIsaFor("skylake-avx512", WeightFormat::MXFP4), KernelIsa::Avx512);
  EXPECT_EQ(firstIsaFor("haswell", WeightFormat::INT4A), KernelIsa::Avx2);
  EXPECT_EQ(firstIsaFor("sapphirerapids", WeightFormat::BF16, InputFormat::BF16), KernelIsa::Amx);
  EXPECT_EQ(firstIsaFor("amx", WeightFormat::BF16, InputFormat::BF16), KernelIsa::Amx);
  EXPECT_EQ(firstIsaFor("znver5", WeightFormat::BF16, InputFormat::BF16), KernelIsa::Avx512Bf16);
  EXPECT_EQ(firstIsaFor("avx512bf16", WeightFormat::BF16, InputFormat::BF16),
            KernelIsa::Avx512Bf16);
  EXPECT_EQ(firstIsaFor("znver4", WeightFormat::BF16, InputFormat::BF16), KernelIsa::Avx512Bf16);
  EXPECT_EQ(firstIsaFor("cascadelake", WeightFormat::BF16, InputFormat::BF16), KernelIsa::Avx512);
  EXPECT_EQ(firstIsaFor("haswell", WeightFormat::BF16, InputFormat::BF16), KernelIsa::Avx2);
}

} // namespace
} // namespace inf::test
