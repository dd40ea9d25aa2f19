// What a kernel is, as plain facts: everything that changes its bytes, and nothing else. The
// symbol name says it all and parses back, so that the IR can carry kernels by name.
//
//   inf_linear_<weights>_<inputs>_r<rows>[_by32][_bias][_scale][_addend]
//              [_swiglu|_swigluclamped][_residual]__<isa>
//   inf_attention_<kv>_d<headDim>_g<group>_b<blockTokens>[_sinks][_bf16dots][_by32]__<isa>
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/abi/WeightFormats.h"
#include "runtime/cpu/Features.h"

namespace inf {

enum class KernelOp { Linear, Attention };
/// What a generator writes for: registers (ymm, or zmm from Avx512 on) and the integer dot product;
/// the exact feature bits follow from the whole spec. Kernels without an integer dot product come
/// for Avx2 and Avx512 only, those for bf16 rows and bf16 dots for Avx512Bf16 and Amx too.
///   Avx2, Avx512         vpmaddubsw and vpmaddwd
///   AvxVnni, Avx512Vnni  vpdpbusd
///   Avx512Vbmi           vpdpbusd, and codes looked up by vpermb
///   Avx512Bf16           vdpbf16ps, for bf16 rows and bf16 dots of attention alone
///   Amx                  tdpbssd or, for bf16 rows, tdpbf16ps on tiles of 16 rows; for few rows
///                        what Avx512Vnni or Avx512 does. For bf16 dots of attention tdpbf16ps
enum class KernelIsa { Avx2, AvxVnni, Avx512, Avx512Vnni, Avx512Vbmi, Avx512Bf16, Amx };
constexpr bool isWide(KernelIsa isa) { return isa >= KernelIsa::Avx512; }
enum class Activation { None, Swiglu, SwigluClamped };
/// How a product reads its input rows: as floats, or as runtime/abi/ActivationRows.h has them.
/// Attention reads floats always; BF16 says that it rounds queries and weights of keys to bf16.
enum class InputFormat { F32, Q8, BF16 };
/// The order of sums of bf16 rows and of bf16 dots of attention (KernelArgs.h): a chain of pairs of
/// columns, what vdpbf16ps does, or groups of 32 columns, what tiles do. The two differ in bits.
enum class Bf16Order { Pairs, Groups };

/// As they stand in a kernel's name.
std::string_view kernelIsaName(KernelIsa isa);
std::string_view inputFormatName(InputFormat inputs);

struct KernelSpec {
  KernelOp op = KernelOp::Linear;
  KernelIsa isa = KernelIsa::Avx2;

  InputFormat inputs = InputFormat::F32; ///< F32 or BF16 for attention
  Bf16Order order = Bf16Order::Pairs;    ///< Groups for bf16 rows and bf16 dots alone

  // Linear
  /// Packed as panel16, or panel16_pairs with swiglu; for bf16 rows as panel16_by2 and
  /// panel16_pairs_by2.
  WeightFormat weights = WeightFormat::F32;
  /// Widest row tile in registers. Every smaller power of two is a body too; with q8 or bf16
  /// rows, every smaller number.
  unsigned rows = 1;
  bool bias = false, scale = false, addend = false, residual = false;
  Activation activation = Activation::None;

  // Attention
  WeightFormat kv = WeightFormat::F32; ///< F32 or BF16
  unsigned headDim = 64, group = 1, blockTokens = 64;
  bool sinks = false;

  bool operator==(const KernelSpec &) const = default;
};

std::string kernelSymbol(const KernelSpec &spec);
/// nullopt when the name is not one that kernelSymbol writes.
std::optional<KernelSpec> parseKernelSymbol(std::string_view symbol);
/// nullopt when the generators can build it, else why not, in a sentence: rows beyond the register
/// budget (f32: 8 on AVX-512, 2 on AVX2, powers of two; q8: 6 with AVX-512 VNNI, 3 or 4 without, 16
/// on AMX; bf16: 6 on AVX-512, 4 on AVX2, by groups 4 on AVX-512, 16 on AMX); q8 rows with dense
/// weights; bf16 rows with others than bf16; an order that the isa can't sum in; f32 rows or f32
/// dots on an isa other than avx2 and avx512; bf16 dots of f32 keys;
/// vbmi for other weights than mxfp4; head_dim not a multiple of 8 up to 256, or of 32 by groups;
/// group beyond 16; block tokens not a power of two from 16 to 4096, or below 32 by groups; ...
std::optional<std::string> whyNotGenerable(const KernelSpec &spec);
/// Exactly the features the kernel's instructions use (a test disassembles and compares).
FeatureSet kernelFeatures(const KernelSpec &spec);

/// One row of the kernel table that kernel selection reads, most preferred first.
struct KernelChoice {
  KernelOp op;
  KernelIsa isa;
  WeightFormat format; ///< weights (Linear) or KV elements (Attention)
  InputFormat inputs;  ///< as in KernelSpec
  unsigned rows;       ///< row tile (Linear)
  std::string_view why;
  Bf16Order order = Bf16Order::Pairs;
  FeatureSet slowWith = {}; ///< on targets with any of these a later row is faster; see `why`
  unsigned fewestHeads = 1; ///< of a kv head (Attention): for fewer a later row is faster
};
const std::vector<KernelChoice> &kernelTable();

} // namespace inf
