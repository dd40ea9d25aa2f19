// Packed layouts: exactly the bytes the kernels stream. One packer per layout, and
// unpack(pack(x)) = x for every layout and format.
//
//   vector   f32 [experts][rows padded to 16]: norms, biases, sinks.
//   vector_pairs  the same for the bias of a gate/up pair: for every 16 outputs, 16 gate values
//            then 16 up values (each half of `rows` padded to 16 on its own).
//   rows     row-major [rows][columns] in the format (embedding tables: gathered by row).
//            Any format but MXFP4, no expert axis. Block formats: a row is its blocks as
//            runtime/format/Blocks.h has them, [columns/32] of scale bytes, then code bytes.
//   panel16  panels of 16 output rows, rows padded with zeros to a multiple of 16:
//            F32/F16/BF16: [experts][panel][column][16 outputs].
//            MXFP4: [experts][panel][column/32] blocks of 272 bytes: 256 bytes of codes, then 16
//            scale bytes (one per output). Code byte j*64 + r*4 + i (j<4, r<16 the output, i<4)
//            holds column j*4+i of the block in its low nibble and column 16+j*4+i in its high
//            nibble: a 64-byte line read as 16 dwords puts output r into lane r.
//            INT8: [experts][panel][column/32] blocks of 544 bytes: 512 bytes of codes + 128
//            (unsigned), byte j*64 + r*4 + i (j<8) being column j*4+i, then 16 f16 scales.
//            INT4: blocks of 288 bytes: 256 bytes of nibbles placed as MXFP4's, each code + 8, then
//            16 f16 scales. INT4A: blocks of 320 bytes: nibbles (the code), 16 f16 scales, 16 f16
//            minimums.
//   panel16_by2  BF16 alone, for kernels that multiply pairs: [experts][panel][column/2][16
//            outputs][2 columns]; where columns are odd, the last pair ends in zeros.
//   panel16_pairs, panel16_pairs_by2  the same for gate/up weights: logical rows are gate [0,
//   rows/2) then up;
//            packed panel 2p holds gate rows 16p.., panel 2p+1 up rows 16p.. (each half padded to
//            16).
//
// Zero padding: all bytes 0, which is value 0 in every format.
//
// What a packed block means in f32: code * scale, exact; INT4A fma(code, scale, minimum), which is
// the sum rounded once, the product being exact. Quantize.h says how values become blocks.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "runtime/format/WeightDecl.h"
#include "runtime/format/WeightSource.h"

namespace inf {

/// A weight in the format and layout it is packed to.
struct PackedSpec {
  WeightFormat format = WeightFormat::F32;
  PackedLayout layout = PackedLayout::Vector;
};

/// nullopt when the weight can be packed so, else the reason in a sentence (columns not a multiple
/// of 32 for a block format, a block format in layout rows, a format the checkpoint can't be
/// converted to (MXFP4 from anything else), a vector layout for a matrix, odd rows for pairs, ...).
std::optional<std::string> whyNotPackable(const WeightDecl &decl, PackedSpec spec);

/// Bytes of the whole packed weight, all experts (exact, overflow-checked).
uint64_t packedBytes(const WeightDecl &decl, PackedSpec spec);
/// Bytes of one expert: packedBytes / experts.
uint64_t packedExpertBytes(const WeightDecl &decl, PackedSpec spec);

/// The same sentence as a BadInput error.
void requirePackable(const WeightDecl &decl, PackedSpec spec);

/// Packing is done by units that can be produced alone, in any order, by several threads: one unit
/// is one panel (16 packed rows; a pair of panels for *_pairs), or for `rows` 16 rows, or for
/// vectors one expert. Units are of equal size but the last of `rows`.
struct PackUnits {
  uint64_t count = 0;     ///< over all experts
  uint64_t unitBytes = 0; ///< size of every unit but possibly the last
};
PackUnits packUnits(const WeightDecl &decl, PackedSpec spec);
/// Exact size of unit `unit`; it lies at unit * packUnits().unitBytes of the packed weight.
uint64_t packUnitBytes(const WeightDecl &decl, PackedSpec spec, uint64_t unit);
/// Writes unit `unit` into `out` (its exact size). Values convert exactly or round to nearest even
/// (f32 → bf16, f16), or are quantized (Quantize.h). Parts already stored in the packed format are
/// moved as bytes, never through float. Non-finite values, and blocks that need a scale beyond f16,
/// fail with BadInput naming weight, tensor and index.
void packUnit(const WeightDecl &decl, PackedSpec spec, const WeightSource &source, uint64_t unit,
              std::span<uint8_t> out);

/// The inverse: logical rows as f32 [count][columns] from the packed bytes of one expert.
void unpackRowsF32(const WeightDecl &decl, PackedSpec spec, std::span<const uint8_t> packedExpert,
                   uint64_t firstRow, uint64_t count, float *out);

} // namespace inf
