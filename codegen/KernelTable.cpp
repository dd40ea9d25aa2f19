// What the generators can build, and what selection should prefer.
#include <fmt/format.h>

#include "codegen/KernelSpec.h"
#include "codegen/linear/Tiling.h"

namespace inf {

// Measured on Zen 4, 64 rows of 2880 columns by 1440 outputs: a kernel's products against those of
// a loop of nothing but its dot instructions (64 bytes of vpdpbusd; 32 of vpmaddubsw and vpaddw). A
// multiplication and an FMA for 8 dot products leave 0.8 to reach.
// Those of AMX on Emerald Rapids, two of its threads on a machine shared with others.
static constexpr std::string_view amxRows =
    "tiles of 16 rows by 16 outputs; fewer than 8 rows go to vpdpbusd. 44 to 48 "
    "cycles a tile, where one of bf16 takes 16"; // operands in the second level cache
static constexpr std::string_view amxExactRows =
    "tiles of bf16, summed over all columns where scales are powers of two; fewer than 8 rows go "
    "to vpdpbusd. 64 rows: 85 cycles for 64 of the bf16 tiles' in caches, 95 from memory";
static constexpr std::string_view vbmiRows =
    "6 rows by 2 panels, codes looked up by one vpermb: 0.85 of the vpdpbusd peak";
static constexpr std::string_view wideVnniRows =
    "6 rows by 2 panels: 0.76 of the vpdpbusd peak (int4a, with its minimum, 0.65)";
static constexpr std::string_view wideMxfp4VnniRows =
    "6 rows by 2 panels: 0.83 of the vpdpbusd peak";
static constexpr std::string_view vnniRows =
    "4 rows: their sums, half a panel at a time, take 12 of 16 registers";
static constexpr std::string_view wideMaddRows =
    "4 rows by 2 panels: a tenth faster than 2 by 2; with sums in 16 bits 24 of 32 registers";
static constexpr std::string_view maddRows =
    "3 rows: their sums, half a panel at a time, take 12 of 16 registers; a tenth faster than 2";
static constexpr std::string_view maddNibbleRows =
    "4 rows: a block's sum fits 16 bits, so sums take 12 of 16 registers; 6 % faster than 3";
static constexpr std::string_view avx512Rows =
    "8 rows: 16 of 32 registers hold sums, and row pointers fill the 15 general registers";
static constexpr std::string_view avx2Rows =
    "2 rows: their sums take 8 of 16 registers; 4 rows would take all of them";
static constexpr std::string_view amxBf16Rows =
    "tiles of 32 rows by 32 outputs, summed over all columns; fewer than 8 rows go to FMAs in the "
    "same order. 64 rows: 0.23 of the bf16 tile peak beside others, 0.43 to 0.75 estimated";
// Against a loop of vdpbf16ps, or of FMAs, alone, Zen 4, 64 rows of 2880 columns by 64 outputs.
static constexpr std::string_view bf16DotRows =
    "6 rows by 2 panels: 0.99 of the vdpbf16ps peak, twice that of FMAs; 1 to 6 rows read as fast "
    "as memory goes";
static constexpr std::string_view bf16WideRows =
    "6 rows by 2 panels, pairs of columns taken apart: 0.91 of the FMA peak";
static constexpr std::string_view bf16Rows =
    "4 rows: sums take 8 of 16 registers, pairs of columns taken apart 6; 0.91 of the FMA peak";
// Against a loop of FMAs alone, 8 heads of 64, Zen 4, keys in L2 or L3. On Emerald Rapids a core
// begins one vdpbf16ps of 512 bits in two cycles, so half the products of its FMAs; CPUs with tiles
// have that core or a neighbour of its line.
static constexpr std::string_view kvDotRows =
    "one row's heads that share a kv head, pairs by vdpbf16ps: 0.7 of its peak, twice as fast as "
    "FMAs on Zen 4; 0.7 times as fast where there are tiles";
static constexpr std::string_view kvPairRows =
    "one row's heads that share a kv head, pairs taken apart: 0.76 of the FMA peak, avx2 0.66";
static constexpr std::string_view kvTiles =
    "one row's heads that share a kv head, on tiles, summed by 32 dimensions and keys. 8 heads, "
    "1024 keys: 0.57 of the time of FMAs beside neighbours that slow tiles down, 4 heads 0.85; 2 "
    "heads 1.15"; // for which eight loads of tiles are too much
static constexpr std::string_view kvRows =
    "one row's heads that share a kv head: 0.78 of the FMA peak (f32 0.79), avx2 0.67 (0.72)";

/// Widest and fewest instructions first: vpdpbusd does in one what takes vpmaddubsw three, so
/// AVX-VNNI's 32 bytes come before 64 bytes without it.
static void addQ8(std::vector<KernelChoice> &table) {
  using enum WeightFormat;
  const auto add = [&](KernelIsa isa, WeightFormat format, unsigned rows, std::string_view why) {
    table.push_back({KernelOp::Linear, isa, format, InputFormat::Q8, rows, why});
  };
  for (WeightFormat format : {MXFP4, INT8, INT4, INT4A})
    add(KernelIsa::Amx, format, amxtiles::tileRows, format == MXFP4 ? amxExactRows : amxRows);
  add(KernelIsa::Avx512Vbmi, MXFP4, 6, vbmiRows);
  for (WeightFormat format : {MXFP4, INT8, INT4, INT4A}) {
    const bool inOnePass = format == INT4 || format == INT4A;
    add(KernelIsa::Avx512Vnni, format, 6, format == MXFP4 ? wideMxfp4VnniRows : wideVnniRows);
    add(KernelIsa::AvxVnni, format, 4, vnniRows);
    add(KernelIsa::Avx512, format, 4, wideMaddRows);
    add(KernelIsa::Avx2, format, inOnePass ? 4 : 3, inOnePass ? maddNibbleRows : maddRows);
  }
}

static void addBf16(std::vector<KernelChoice> &table) {
  const auto add = [&](KernelIsa isa, unsigned rows, std::string_view why) {
    table.push_back({KernelOp::Linear, isa, WeightFormat::BF16, InputFormat::BF16, rows, why});
  };
  table.push_back({KernelOp::Linear, KernelIsa::Amx, WeightFormat::BF16, InputFormat::BF16,
                   amxtiles::tileRows, amxBf16Rows, Bf16Order::Groups});
  add(KernelIsa::Avx512Bf16, 6, bf16DotRows);
  add(KernelIsa::Avx512, 6, bf16WideRows);
  add(KernelIsa::Avx2, 4, bf16Rows);
}

static void addFloat(std::vector<KernelChoice> &table) {
  using enum WeightFormat;
  for (WeightFormat format : {MXFP4, INT8, INT4, INT4A, BF16, F16, F32}) {
    table.push_back({KernelOp::Linear, KernelIsa::Avx512, format, InputFormat::F32, 8, avx512Rows});
    table.push_back({KernelOp::Linear, KernelIsa::Avx2, format, InputFormat::F32, 2, avx2Rows});
  }
}

static void addAttention(std::vector<KernelChoice> &table) {
  const auto addPairs = [&](KernelIsa isa, std::string_view why) {
    table.push_back({KernelOp::Attention, isa, WeightFormat::BF16, InputFormat::BF16, 1, why});
  };
  table.push_back({KernelOp::Attention, KernelIsa::Amx, WeightFormat::BF16, InputFormat::BF16, 1,
                   kvTiles, Bf16Order::Groups});
  table.back().fewestHeads = 4;
  addPairs(KernelIsa::Avx512Bf16, kvDotRows);
  table.back().slowWith = FeatureSet{}.with(Feature::AMXTILE);
  addPairs(KernelIsa::Avx512, kvPairRows);
  addPairs(KernelIsa::Avx2, kvPairRows);
  for (KernelIsa isa : {KernelIsa::Avx512, KernelIsa::Avx2})
    for (WeightFormat format : {WeightFormat::BF16, WeightFormat::F32})
      table.push_back({KernelOp::Attention, isa, format, InputFormat::F32, 1, kvRows});
}

const std::vector<KernelChoice> &kernelTable() {
  static const std::vector<KernelChoice> table = [] {
    std::vector<KernelChoice> choices;
    addQ8(choices);
    addBf16(choices);
    addFloat(choices);
    addAttention(choices);
    return choices;
  }();
  return table;
}

static bool isFloatIsa(KernelIsa isa) { return isa == KernelIsa::Avx2 || isa == KernelIsa::Avx512; }

static std::optional<std::string> whyNotFloatRows(const KernelSpec &spec) {
  if (!isFloatIsa(spec.isa))
    return fmt::format("kernels for f32 rows come for avx2 and avx512, not for {}",
                       kernelIsaName(spec.isa));
  const unsigned most = isWide(spec.isa) ? 8 : 2;
  if (spec.rows == 0 || spec.rows > most || (spec.rows & (spec.rows - 1)) != 0)
    return fmt::format("rows is {}, expected a power of two of at most {}, what the registers hold",
                       spec.rows, most);
  return std::nullopt;
}

static std::optional<std::string> whyNotBf16Groups(const KernelSpec &spec) {
  if (spec.isa != KernelIsa::Avx512 && spec.isa != KernelIsa::Amx)
    return fmt::format("bf16 rows are summed by 32 columns on avx512 and amx, not on {}",
                       kernelIsaName(spec.isa));
  if (spec.isa == KernelIsa::Amx && spec.rows != amxtiles::tileRows)
    return fmt::format("rows is {}, expected {}, the rows of a tile", spec.rows,
                       amxtiles::tileRows);
  if (spec.isa == KernelIsa::Avx512 && (spec.rows == 0 || spec.rows > mostGroupRows))
    return fmt::format("rows is {}, expected 1 to {}, what the registers hold", spec.rows,
                       mostGroupRows);
  return std::nullopt;
}

static std::optional<std::string> whyNotBf16Rows(const KernelSpec &spec) {
  if (spec.weights != WeightFormat::BF16)
    return fmt::format("bf16 rows need bf16 weights, these are {}", weightFormatName(spec.weights));
  if (spec.order == Bf16Order::Groups)
    return whyNotBf16Groups(spec);
  if (spec.isa == KernelIsa::Amx)
    return "tiles sum bf16 rows by 32 columns: expected _by32 in the kernel's name";
  if (!isFloatIsa(spec.isa) && spec.isa != KernelIsa::Avx512Bf16)
    return fmt::format("kernels for bf16 rows come for avx2, avx512 and avx512bf16, not for {}",
                       kernelIsaName(spec.isa));
  const unsigned most = isWide(spec.isa) ? 6 : 4;
  if (spec.rows == 0 || spec.rows > most)
    return fmt::format("rows is {}, expected 1 to {}, what the registers hold", spec.rows, most);
  return std::nullopt;
}

/// What IntegerReduction.cpp's register budget allows.
static unsigned mostQ8Rows(KernelIsa isa, WeightFormat weights) {
  switch (isa) {
  case KernelIsa::Avx2: // int4 and int4a make do with sums in 16 bits
    return weights == WeightFormat::INT4 || weights == WeightFormat::INT4A ? 4 : 3;
  case KernelIsa::AvxVnni:
  case KernelIsa::Avx512:
    return 4;
  case KernelIsa::Avx512Vnni:
  case KernelIsa::Avx512Vbmi:
    return 6;
  case KernelIsa::Avx512Bf16: // refused
    return 0;
  case KernelIsa::Amx:
    return amxtiles::tileRows;
  }
  return 0;
}

static std::optional<std::string> whyNotQ8Rows(const KernelSpec &spec) {
  if (!isBlockFormat(spec.weights))
    return fmt::format("q8 rows need weights in a block format, these are {}",
                       weightFormatName(spec.weights));
  if (spec.isa == KernelIsa::Avx512Bf16)
    return "q8 rows have no use for vdpbf16ps: their kernel is that for avx512vnni";
  if (spec.isa == KernelIsa::Avx512Vbmi && spec.weights != WeightFormat::MXFP4)
    return fmt::format("{} needs no vpermb: its kernel is that for avx512vnni",
                       weightFormatName(spec.weights));
  if (spec.isa == KernelIsa::Amx && spec.rows != amxtiles::tileRows)
    return fmt::format("rows is {}, expected {}, the rows of a tile", spec.rows,
                       amxtiles::tileRows);
  const unsigned most = mostQ8Rows(spec.isa, spec.weights);
  if (spec.rows == 0 || spec.rows > most)
    return fmt::format("rows is {}, expected 1 to {}, what the registers hold", spec.rows, most);
  return std::nullopt;
}

static std::optional<std::string> whyNotLinear(const KernelSpec &spec) {
  if (static_cast<uint32_t>(spec.weights) >= weightFormatNames.size())
    return fmt::format("unknown weight format {}", static_cast<uint32_t>(spec.weights));
  if (spec.order == Bf16Order::Groups && spec.inputs != InputFormat::BF16)
    return fmt::format("only bf16 rows are summed by 32 columns, these are {}",
                       inputFormatName(spec.inputs));
  switch (spec.inputs) {
  case InputFormat::Q8:
    return whyNotQ8Rows(spec);
  case InputFormat::BF16:
    return whyNotBf16Rows(spec);
  case InputFormat::F32:
    return whyNotFloatRows(spec);
  }
  return "unknown inputs";
}

/// Whole groups of dimensions and of keys.
static std::optional<std::string> whyNotAttentionGroups(const KernelSpec &spec) {
  if (spec.isa != KernelIsa::Amx || spec.inputs != InputFormat::BF16)
    return fmt::format("attention is summed by 32 dimensions on amx in bf16 dots, not on {}{}",
                       kernelIsaName(spec.isa),
                       spec.inputs == InputFormat::BF16 ? "" : " in f32 dots");
  if (spec.headDim % 32 != 0)
    return fmt::format("head_dim is {}, expected a multiple of 32, the dimensions of a group",
                       spec.headDim);
  if (spec.blockTokens < 32)
    return fmt::format("a block holds {} tokens, expected at least 32, the keys of a group",
                       spec.blockTokens);
  return std::nullopt;
}

static std::optional<std::string> whyNotAttention(const KernelSpec &spec) {
  const bool pairs = spec.inputs == InputFormat::BF16;
  if (spec.inputs == InputFormat::Q8)
    return "attention has no q8 dots, expected f32 or bf16";
  if (pairs && spec.kv != WeightFormat::BF16)
    return fmt::format("bf16 dots need bf16 keys and values, these are {}",
                       weightFormatName(spec.kv));
  const bool groups = spec.order == Bf16Order::Groups;
  if (pairs && spec.isa == KernelIsa::Amx && !groups)
    return "tiles sum bf16 dots by 32 dimensions: expected _by32 in the kernel's name";
  if (!isFloatIsa(spec.isa) && !groups && !(pairs && spec.isa == KernelIsa::Avx512Bf16))
    return fmt::format("attention kernels come for avx2 and avx512, those of bf16 dots for "
                       "avx512bf16 and, by 32, amx too, not for {}{}",
                       kernelIsaName(spec.isa), pairs ? "" : " with f32 dots");
  if (spec.kv != WeightFormat::F32 && spec.kv != WeightFormat::BF16)
    return fmt::format("KV elements are {}, expected f32 or bf16", weightFormatName(spec.kv));
  if (spec.headDim < 8 || spec.headDim > 256 || spec.headDim % 8 != 0)
    return fmt::format("head_dim is {}, expected a multiple of 8 from 8 to 256", spec.headDim);
  if (spec.group < 1 || spec.group > 16)
    return fmt::format("{} query heads share a kv head, expected 1 to 16", spec.group);
  const bool powerOfTwo = (spec.blockTokens & (spec.blockTokens - 1)) == 0;
  if (spec.blockTokens < 16 || spec.blockTokens > 4096 || !powerOfTwo)
    return fmt::format("a block holds {} tokens, expected a power of two from 16 to 4096",
                       spec.blockTokens);
  return groups ? whyNotAttentionGroups(spec) : std::nullopt;
}

std::optional<std::string> whyNotGenerable(const KernelSpec &spec) {
  return spec.op == KernelOp::Linear ? whyNotLinear(spec) : whyNotAttention(spec);
}

static bool hasF16Scales(WeightFormat format) {
  return isBlockFormat(format) && format != WeightFormat::MXFP4;
}

/// Whole zmm registers and AVX512F alone; AVX for vzeroupper. On AVX2, dense kernels
/// without an activation only load, broadcast and multiply (AVX, FMA); integer work in ymm is AVX2.
static FeatureSet floatFeatures(const KernelSpec &spec) {
  const FeatureSet base = FeatureSet{}.with(Feature::AVX);
  if (isWide(spec.isa))
    return base.with(Feature::AVX512F);
  FeatureSet features = base.with(Feature::FMA);
  if (spec.weights == WeightFormat::F16 || hasF16Scales(spec.weights))
    features = features.with(Feature::F16C);
  const bool integerDecode = spec.weights == WeightFormat::BF16 || isBlockFormat(spec.weights);
  if (integerDecode || spec.activation != Activation::None)
    features = features.with(Feature::AVX2);
  return features;
}

/// Words and bytes in zmm are AVX512BW: all that vpmaddubsw does, and the lookup by vpshufb.
static FeatureSet q8Features(const KernelSpec &spec) {
  const FeatureSet base = FeatureSet{}.with(Feature::AVX);
  const FeatureSet narrow = base.with(Feature::FMA).with(Feature::AVX2);
  const FeatureSet halves = hasF16Scales(spec.weights) ? narrow.with(Feature::F16C) : narrow;
  const FeatureSet wide = base.with(Feature::AVX512F);
  const FeatureSet wideVnni = wide.with(Feature::AVX512VNNI);
  switch (spec.isa) {
  case KernelIsa::Avx2:
    return halves;
  case KernelIsa::AvxVnni:
    return halves.with(Feature::AVXVNNI);
  case KernelIsa::Avx512:
    return wide.with(Feature::AVX512BW);
  case KernelIsa::Avx512Vnni:
    return spec.weights == WeightFormat::MXFP4 ? wideVnni.with(Feature::AVX512BW) : wideVnni;
  case KernelIsa::Avx512Vbmi:
    return wideVnni.with(Feature::AVX512VBMI);
  case KernelIsa::Avx512Bf16:
    return wide.with(Feature::AVX512BF16);
  case KernelIsa::Amx: { // vpshufb where codes are looked up
    const FeatureSet tiles = wideVnni.with(Feature::AMXTILE).with(Feature::AMXINT8);
    if (spec.weights == WeightFormat::MXFP4) // AmxExactProduct.cpp
      return tiles.with(Feature::AVX512BW)
          .with(Feature::AVX512VBMI)
          .with(Feature::AVX512BF16)
          .with(Feature::AMXBF16);
    return spec.weights == WeightFormat::INT4 ? tiles.with(Feature::AVX512BW) : tiles;
  }
  }
  return base;
}

/// Taking bf16 columns apart in ymm is AVX2.
static FeatureSet bf16Features(const KernelSpec &spec) {
  const FeatureSet base = FeatureSet{}.with(Feature::AVX);
  if (!isWide(spec.isa))
    return base.with(Feature::FMA).with(Feature::AVX2);
  const FeatureSet wide = base.with(Feature::AVX512F);
  if (spec.isa == KernelIsa::Amx)
    return wide.with(Feature::AMXTILE).with(Feature::AMXBF16);
  return spec.isa == KernelIsa::Avx512Bf16 ? wide.with(Feature::AVX512BF16) : wide;
}

/// Beside vdpbf16ps and tiles, weights of keys are widened by vpermw.
static FeatureSet attentionFeatures(const KernelSpec &spec) {
  const FeatureSet base = FeatureSet{}.with(Feature::AVX);
  if (!isWide(spec.isa))
    return base.with(Feature::FMA).with(Feature::AVX2);
  const FeatureSet wide = base.with(Feature::AVX512F),
                   dots = wide.with(Feature::AVX512BW).with(Feature::AVX512BF16);
  if (spec.isa == KernelIsa::Amx)
    return dots.with(Feature::AMXTILE).with(Feature::AMXBF16);
  return spec.isa == KernelIsa::Avx512Bf16 ? dots : wide;
}

FeatureSet kernelFeatures(const KernelSpec &spec) {
  if (spec.op == KernelOp::Attention)
    return attentionFeatures(spec);
  if (spec.inputs == InputFormat::BF16)
    return bf16Features(spec);
  return spec.inputs == InputFormat::Q8 ? q8Features(spec) : floatFeatures(spec);
}

} // namespace inf
