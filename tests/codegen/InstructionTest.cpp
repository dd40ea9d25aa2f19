// What instructions a kernel is made of, by disassembling it. LLVM's x86 disassembler and assembler
// take every instruction whatever the subtarget's features, so the features come from a table here;
// an instruction that is not in it fails the test.
#include <optional>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codegen/Kernel.h"

namespace inf::test {
namespace {

using testing::HasSubstr;
using testing::Not;

std::vector<KernelSpec> representativeSpecs() {
  std::vector<KernelSpec> specs;
  for (const KernelChoice &choice : kernelTable()) {
    KernelSpec spec;
    spec.op = choice.op, spec.isa = choice.isa, spec.rows = choice.rows;
    spec.weights = spec.kv = choice.format, spec.inputs = choice.inputs;
    spec.order = choice.order;
    if (spec.op == KernelOp::Attention) {
      spec.weights = WeightFormat::F32, spec.group = 8, spec.sinks = true;
      const unsigned odd = spec.order == Bf16Order::Groups ? 96 : 24; // 24: half a line
      for (unsigned headDim : {64u, odd}) {
        spec.headDim = headDim;
        specs.push_back(spec);
      }
      continue;
    }
    spec.kv = WeightFormat::F32;
    specs.push_back(spec);
    spec.bias = spec.scale = spec.addend = spec.residual = true;
    spec.activation = Activation::SwigluClamped;
    specs.push_back(spec);
  }
  return specs;
}

/// Set by LLVM before what has an EVEX form too; the bytes say it as well.
constexpr std::string_view vexPrefix = "{vex} ";

struct Listing {
  std::string text;       ///< instructions only, one a line
  std::string firstBytes; ///< of each instruction, one a line
};

/// A line is "offset: bytes  instruction", the bytes padded with at least two spaces.
Listing listingOf(const KernelSpec &spec) {
  const KernelCode code = generateKernel(spec);
  std::istringstream lines(disassemble(code.bytes.data(), code.codeBytes, 0));
  Listing listing;
  for (std::string line; std::getline(lines, line);) {
    const size_t bytes = line.find(':') + 2;
    size_t instruction = line.find_first_not_of(' ', line.find("  ", bytes));
    if (line.substr(instruction).starts_with(vexPrefix))
      instruction += vexPrefix.size();
    listing.firstBytes += line.substr(bytes, 2) + "\n";
    listing.text += line.substr(instruction) + "\n";
  }
  return listing;
}

/// CPUID features of an instruction by its encoding (Intel SDM volume 2, "CPUID Feature Flag").
/// Count: the encoding does not exist.
struct Needs {
  std::string_view mnemonic;
  Feature vex, evex;
};

constexpr Feature none = Feature::Count;
constexpr Needs vectorInstructions[] = {
    {"kmovd", Feature::AVX512BW, none},
    {"kmovw", Feature::AVX512F, none},
    {"korw", Feature::AVX512F, none},
    {"kortestw", Feature::AVX512F, none},
    {"kxorw", Feature::AVX512F, none},
    {"ldtilecfg", Feature::AMXTILE, none},
    {"tdpbf16ps", Feature::AMXBF16, none},
    {"tdpbssd", Feature::AMXINT8, none},
    {"tileloadd", Feature::AMXTILE, none},
    {"tilerelease", Feature::AMXTILE, none},
    {"tilestored", Feature::AMXTILE, none},
    {"tilezero", Feature::AMXTILE, none},
    {"vaddps", Feature::AVX, Feature::AVX512F},
    {"vblendmps", none, Feature::AVX512F},
    {"vblendvps", Feature::AVX, none},
    {"vbroadcasti32x4", none, Feature::AVX512F},
    {"vbroadcastss", Feature::AVX, Feature::AVX512F}, // from memory
    {"vcmpltps", Feature::AVX, Feature::AVX512F},
    {"vcmpneqps", Feature::AVX, Feature::AVX512F},
    {"vcmpnleps", Feature::AVX, Feature::AVX512F},
    {"vcmpnlt_uqps", Feature::AVX, Feature::AVX512F},
    {"vcvtdq2ps", Feature::AVX, Feature::AVX512F},
    {"vcvtph2ps", Feature::F16C, Feature::AVX512F},
    {"vcvtps2dq", Feature::AVX, Feature::AVX512F},
    {"vdivps", Feature::AVX, Feature::AVX512F},
    {"vcvtne2ps2bf16", none, Feature::AVX512BF16},
    {"vdpbf16ps", none, Feature::AVX512BF16},
    {"vfmadd213ps", Feature::FMA, Feature::AVX512F},
    {"vfmadd231ps", Feature::FMA, Feature::AVX512F},
    {"vfnmadd231ps", Feature::FMA, Feature::AVX512F},
    {"vldmxcsr", Feature::AVX, none},
    {"vmaxps", Feature::AVX, Feature::AVX512F},
    {"vminps", Feature::AVX, Feature::AVX512F},
    {"vmovaps", Feature::AVX, Feature::AVX512F},
    {"vmovd", Feature::AVX, Feature::AVX512F},
    {"vmovdqu", Feature::AVX, none},
    {"vmovmskps", Feature::AVX, none},
    {"vmovsd", Feature::AVX, Feature::AVX512F},
    {"vmovss", Feature::AVX, Feature::AVX512F},
    {"vmovups", Feature::AVX, Feature::AVX512F},
    {"vmulps", Feature::AVX, Feature::AVX512F},
    {"vpaddd", Feature::AVX2, Feature::AVX512F},
    {"vpaddw", Feature::AVX2, Feature::AVX512BW},
    {"vpand", Feature::AVX2, none},
    {"vpandd", none, Feature::AVX512F},
    {"vpbroadcastd", Feature::AVX2, Feature::AVX512F},
    {"vpcmpgtd", Feature::AVX2, Feature::AVX512F},
    {"vpdpbusd", Feature::AVXVNNI, Feature::AVX512VNNI},
    {"vperm2f128", Feature::AVX, none},
    {"vpermb", none, Feature::AVX512VBMI},
    {"vpermilps", Feature::AVX, Feature::AVX512F},
    {"vpermps", Feature::AVX2, Feature::AVX512F},
    {"vpermw", none, Feature::AVX512BW},
    {"vpmaddubsw", Feature::AVX2, Feature::AVX512BW},
    {"vpmaddwd", Feature::AVX2, Feature::AVX512BW},
    {"vpmaxsd", Feature::AVX2, Feature::AVX512F},
    {"vpmaxud", Feature::AVX2, Feature::AVX512F},
    {"vpmovsxbd", Feature::AVX2, Feature::AVX512F},
    {"vpmovzxbd", Feature::AVX2, Feature::AVX512F},
    {"vpmovzxwd", Feature::AVX2, Feature::AVX512F},
    {"vpminud", Feature::AVX2, Feature::AVX512F},
    {"vpmultishiftqb", none, Feature::AVX512VBMI},
    {"vpor", Feature::AVX2, none},
    {"vpord", none, Feature::AVX512F},
    {"vpshufb", Feature::AVX2, Feature::AVX512BW},
    {"vpslld", Feature::AVX2, Feature::AVX512F},
    {"vpsllq", Feature::AVX2, Feature::AVX512F},
    {"vpsllw", Feature::AVX2, Feature::AVX512BW},
    {"vpsrad", Feature::AVX2, Feature::AVX512F},
    {"vpsrld", Feature::AVX2, Feature::AVX512F},
    {"vpsrlw", Feature::AVX2, Feature::AVX512BW},
    {"vpsubd", Feature::AVX2, Feature::AVX512F},
    {"vpsubusw", Feature::AVX2, Feature::AVX512BW},
    {"vpsubw", Feature::AVX2, Feature::AVX512BW},
    {"vpxord", none, Feature::AVX512F},
    {"vrndscaleps", none, Feature::AVX512F},
    {"vroundps", Feature::AVX, none},
    {"vshuff64x2", none, Feature::AVX512F},
    {"vshufps", Feature::AVX, Feature::AVX512F},
    {"vsubps", Feature::AVX, Feature::AVX512F},
    {"vxorps", Feature::AVX, Feature::AVX512DQ},
    {"vzeroupper", Feature::AVX, none},
};

/// Every x86-64 has these.
constexpr std::string_view baseInstructions[] = {
    "add",        "and",        "cmovg", "cmp", "imul", "je",     "jg",  "jge",  "jl",
    "jle",        "jmp",        "jne",   "lea", "mov",  "movsxd", "neg", "or",   "pop",
    "prefetcht0", "prefetcht1", "push",  "ret", "shl",  "shr",    "sub", "test", "xor"};

/// Nothing when the instruction is in no table or has no such encoding.
std::optional<FeatureSet> featuresOf(const std::string &text, bool evex) {
  const std::string mnemonic = text.substr(0, text.find(' '));
  for (std::string_view base : baseInstructions)
    if (base == mnemonic)
      return FeatureSet{};
  for (const Needs &needs : vectorInstructions) {
    const Feature feature = evex ? needs.evex : needs.vex;
    if (needs.mnemonic != mnemonic || feature == none)
      continue;
    const bool scalar = mnemonic == "vmovss" || mnemonic == "vmovd" || mnemonic == "vmovsd";
    const bool narrow = evex && !scalar && text.find("zmm") == std::string::npos;
    const FeatureSet set = FeatureSet{}.with(feature);
    return narrow ? set.with(Feature::AVX512VL) : set;
  }
  return std::nullopt;
}

TEST(Instructions, NeedExactlyTheFeaturesOfKernelFeatures) {
  for (const KernelSpec &spec : representativeSpecs()) {
    const Listing listing = listingOf(spec);
    std::istringstream texts(listing.text), firsts(listing.firstBytes);
    FeatureSet needed;
    for (std::string text, first; std::getline(texts, text) && std::getline(firsts, first);) {
      const std::optional<FeatureSet> features = featuresOf(text, first == "62");
      ASSERT_TRUE(features) << "not in the tables of this test: " << text << " in "
                            << kernelSymbol(spec);
      needed = needed | *features;
    }
    EXPECT_EQ(needed.toString(), kernelFeatures(spec).toString()) << kernelSymbol(spec);
  }
}

TEST(Instructions, AllDecode) {
  for (const KernelSpec &spec : representativeSpecs())
    EXPECT_THAT(listingOf(spec).text, Not(HasSubstr("(bad)"))) << kernelSymbol(spec);
}

TEST(Instructions, KernelsForAvx2MachinesHaveNoEvexAndNoZmm) {
  for (const KernelSpec &spec : representativeSpecs()) {
    if (isWide(spec.isa))
      continue;
    const Listing listing = listingOf(spec);
    EXPECT_THAT(listing.text, Not(HasSubstr("zmm"))) << kernelSymbol(spec);
    EXPECT_THAT(listing.firstBytes, Not(HasSubstr("62\n"))) << kernelSymbol(spec); // EVEX prefix
  }
}

/// Where the assembler would prefer EVEX for the same instruction.
TEST(Instructions, DotProductsOfAvxVnniAreEncodedInVex) {
  for (const KernelSpec &spec : representativeSpecs())
    if (spec.isa == KernelIsa::AvxVnni) {
      const Listing listing = listingOf(spec);
      std::istringstream texts(listing.text), firsts(listing.firstBytes);
      unsigned dots = 0;
      for (std::string text, first; std::getline(texts, text) && std::getline(firsts, first);)
        if (text.starts_with("vpdpbusd")) {
          EXPECT_EQ(first, "c4") << text << " in " << kernelSymbol(spec);
          ++dots;
        }
      EXPECT_GT(dots, 0u) << kernelSymbol(spec);
    }
}

TEST(Instructions, UpperHalvesAreClearedBeforeTheOneReturn) {
  for (const KernelSpec &spec : representativeSpecs()) {
    const std::string text = listingOf(spec).text;
    EXPECT_EQ(text.find("ret\n"), text.size() - 4) << kernelSymbol(spec);
    EXPECT_THAT(text, HasSubstr("vzeroupper\n"));
    EXPECT_THAT(text, Not(HasSubstr("call"))); // kernels are pure
    EXPECT_THAT(text, Not(HasSubstr("syscall")));
  }
}

TEST(Disassembler, ResynchronizesAfterBytesThatAreNoInstruction) {
  const uint8_t bytes[] = {0x06, 0xc3}; // 06 was push es, gone in 64-bit mode
  const std::string text = disassemble(bytes, sizeof bytes, 0x10);
  EXPECT_THAT(text, HasSubstr("(bad)"));
  EXPECT_THAT(text, HasSubstr("11: c3"));
  EXPECT_THAT(text, HasSubstr("ret"));
}

} // namespace
} // namespace inf::test
