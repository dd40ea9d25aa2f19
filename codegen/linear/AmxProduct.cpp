// Rows in int8 times weights in blocks of 32 columns on AMX tiles: the sums of IntegerReduction.cpp
// with its bits, for many rows.
//
//   while there are panels, two at a time (a pair, with swiglu), at last one:
//     for each group of 64 rows:
//       totals = 0
//       for each chunk of K, 8 blocks, then 4, 2, 1:
//         expand the weights of the chunk to signed bytes             AmxWeights.cpp
//         for each 16 rows:
//           gather their codes and Q8Blocks into the frame
//           for each block and panel:
//             tile(16 rows x 16 outputs, int32) = codes(16 x 32) * weights(32 x 16);  store it
//           for each row:  for each block:  total = fma(float(tile), w * a, total)
//       y = epilogue(totals)
//
//            32 columns                     16 outputs            one block and panel, K = 32:
//          +------------+                 +------------+          8192 products
//  16 rows | codes of q |   8 rows of     | o0 o0 o0 o0|...       tdpbssd: 16 rows, 16 cycles, half
//          +------------+   4 columns     +------------+          of what int8 tiles can do
//
// K = 64, a whole tile, would add two blocks of 32 into one sum, and each has its own scales: not
// used. Rows come as pointers and tiles are loaded with a stride, so rows are gathered. Of a last
// tile with fewer rows the rest is computed from what the frame holds, and not used: integers don't
// trap. Fewer than 8 rows are left to vpdpbusd.
//
// Cycles of a block and panel, 64 rows, from instruction counts and Intel's published throughputs,
// for mxfp4:
//   tile unit     tdpbssd                                                          16
//   store port    tile 16, rows 5 (gathered once for two panels), totals 2, expanded weights 2   25
//   load ports    rows 4, weights 4, tile 8, scales of rows 4, totals and gathering 4            24
//   vector ports  vcvtdq2ps, vmulps, vfmadd231ps of 16 rows 24, expanding weights 3              27
// All overlapped 27 cycles, 300 products a cycle, 59 % of the 512 that bf16 tiles do at most.
// Measured on Emerald Rapids, 80 to 111, 14 to 20 %: nothing overlaps. Tiles take 37, scaling 36,
// gathering 13 and expanding 6 when each is all there is, and a tilestored is in the way of vector
// instructions, whatever is between them. In a prototype, products of one tile of rows beside the
// scaling of the one before, stores four products late, chunks of 4 blocks: 68 to 73.
//
// Vector registers: 16 scales (8 blocks, 2 panels), 2 totals, 1 scale of a row, 1 sum, 1 product,
// 1 minimum or none: 22 of 32. General registers: 7 by role and 8 of AmxContext, all 15.
#include "codegen/linear/AmxProduct.h"

#include "codegen/linear/AmxPanels.h"
#include "codegen/linear/AmxWeights.h"

namespace inf {
namespace {

constexpr auto lineBytes = AmxContext::lineBytes;

/// Tiles 0..3 are sums, 4 and 5 rows, 6 and 7 weights.
TileConfiguration tileConfiguration() {
  TileConfiguration tiles;
  for (size_t tile = 0; tile < 8; ++tile) {
    const bool rows = tile == 4 || tile == 5;
    tiles.setTile(tile, tile < 6 ? amxtiles::tileRows : blockColumns / 4,
                  rows ? blockColumns : lineBytes);
  }
  return tiles;
}

} // namespace

AmxProduct::AmxProduct(AmxContext &amxContext, Epilogue &linearEpilogue)
    : linear(amxContext.linear), epilogue(linearEpilogue), context(amxContext), a(context.a),
      lanes(*linear.lanes), panelsOfUnit(isPair(linear.spec) ? 2 : 1) {}

void AmxProduct::loadConfiguration() {
  a.ldtilecfg(a.ptr[a.rip + a.constant(tileConfiguration().words())]);
}

void AmxProduct::emit() {
  loadConfiguration();
  panels(AmxContext::mostPanels);
  if (panelsOfUnit == 1)
    panels(1);
}

/// for (offset = 0; offset < end; offset += 64) body()
template <typename Body> void AmxProduct::forRows(Body body) {
  Xbyak::Label top;
  a.xor_(context.offset, context.offset);
  a.L(top);
  body();
  a.add(context.offset, lineBytes);
  a.cmp(context.offset, context.end);
  a.jl(top);
}

void AmxProduct::panels(unsigned side) {
  forPanels(linear, context.stride, side, [&] { rowGroups(side); });
}

void AmxProduct::rowGroups(unsigned side) {
  Xbyak::Label top;
  a.mov(linear.row, context.rowsFrom());
  a.L(top);
  beginGroup(side);
  chunks(side);
  finish(side); // row is where the group ends
  a.cmp(linear.row, context.rowsLimit());
  a.jl(top);
}

/// Of the rows from `row` on; with all totals 0.
void AmxProduct::beginGroup(unsigned side) {
  a.mov(context.firstRow(), linear.row);
  a.lea(linear.temp, a.ptr[linear.row + amxtiles::groupRows]);
  a.mov(context.end, context.rowsLimit());
  a.cmp(context.end, linear.temp);
  a.cmovg(context.end, linear.temp);
  a.mov(context.rowsEnd(), context.end);
  a.sub(context.end, linear.row);
  a.shl(context.end, 6); // * lineBytes
  a.mov(context.totals, context.frame);
  const Lanes16 zero = lanes.take("zero");
  lanes.setZero(zero);
  forRows([&] {
    for (unsigned panel = 0; panel < side; ++panel)
      lanes.store(totalAt(panel), zero);
  });
}

/// The longest chunk as often as it fits, then each half at most once; k counts columns.
void AmxProduct::chunks(unsigned side) {
  a.mov(linear.cursor, linear.weights);
  a.xor_(linear.k, linear.k);
  for (unsigned blocks = AmxContext::mostBlocks; blocks > 0; blocks /= 2) {
    const auto columns = static_cast<int>(blocks * blockColumns);
    Xbyak::Label again, done;
    a.L(again);
    a.mov(linear.temp, linear.arg(offsetof(LinearArgs, columns)));
    a.sub(linear.temp, linear.k);
    a.cmp(linear.temp, columns);
    a.jl(done);
    chunk(side, blocks);
    a.add(linear.k, columns);
    if (blocks == AmxContext::mostBlocks)
      a.jmp(again);
    a.L(done);
  }
}

void AmxProduct::chunk(unsigned side, unsigned blocks) {
  Xbyak::Label top;
  emitExpandedWeights(context, side, blocks);
  a.mov(linear.row, context.firstRow());
  a.mov(context.totals, context.frame);
  a.L(top);
  gather(blocks);
  multiply(side, blocks);
  scale(side, blocks);
  a.add(context.totals, AmxContext::tileBytes);
  a.add(linear.row, amxtiles::tileRows);
  a.cmp(linear.row, context.rowsEnd());
  a.jl(top);
}

/// Of the up to 16 rows from `row` on, the chunk's codes and Q8Blocks. Leaves `end`.
void AmxProduct::gather(unsigned blocks) {
  a.mov(context.end, context.rowsEnd());
  a.sub(context.end, linear.row);
  a.mov(linear.temp, amxtiles::tileRows);
  a.cmp(context.end, linear.temp);
  a.cmovg(context.end, linear.temp);
  a.shl(context.end, 6); // * lineBytes
  a.mov(context.blockAt, linear.arg(offsetof(LinearArgs, columns)));
  a.add(context.blockAt, 63); // q8BlocksOffset
  a.and_(context.blockAt, -64);
  a.mov(linear.temp, linear.k);
  a.shr(linear.temp, 2); // / blockColumns * sizeof(Q8Block)
  a.add(context.blockAt, linear.temp);
  a.mov(linear.temp, linear.arg(offsetof(LinearArgs, x)));
  a.lea(linear.temp, a.ptr[linear.temp + linear.row * 8]);
  forRows([&] { gatherRow(blocks); });
}

/// A single block's 64 bytes of codes are the row's last 32 and their padding.
void AmxProduct::gatherRow(unsigned blocks) {
  const VectorRegister values = lanes.takeRegister("codes or blocks");
  const int index = values.getIdx();
  a.mov(context.source, a.ptr[linear.temp]);
  a.add(linear.temp, 8);
  for (unsigned block = 0; block < blocks; block += 2) {
    a.vmovups(values, a.ptr[context.source + linear.k + block * static_cast<int>(blockColumns)]);
    a.vmovups(a.ptr[rowOf(AmxContext::inputs(block))], values);
  }
  const Xbyak::Address from = a.ptr[context.source + context.blockAt];
  if (blocks == 8)
    a.vmovups(values, from);
  else if (blocks == 4)
    a.vmovups(Xbyak::Ymm(index), from);
  else if (blocks == 2)
    a.vmovups(Xbyak::Xmm(index), from);
  else
    a.vmovsd(Xbyak::Xmm(index), from);
  a.vmovups(a.ptr[rowOf(AmxContext::rowBlocks(0))], values);
  if (!hasMinimums())
    return;
  a.vpsrad(values, values, 4); // of minus16Sum; in the scales' lanes nonsense that nobody reads
  a.vcvtdq2ps(values, values);
  a.vmovups(
      a.ptr[rowOf(AmxContext::negativeSums(0)) - static_cast<int>(offsetof(Q8Block, minus16Sum))],
      values);
}

void AmxProduct::multiply(unsigned side, unsigned blocks) {
  for (unsigned block = 0; block < blocks; ++block) {
    const Xbyak::Tmm rows = AmxContext::rowTile(block);
    a.tileloadd(rows, tileAt(AmxContext::inputs(block)));
    for (unsigned panel = 0; panel < side; ++panel) {
      const Xbyak::Tmm sums = AmxContext::sumTile(block, panel);
      const Xbyak::Tmm weights = AmxContext::weightTile(panel);
      a.tilezero(sums);
      a.tileloadd(weights, tileAt(AmxContext::expanded(panel, block, 0)));
      a.tdpbssd(sums, rows, weights);
      a.tilestored(tileAt(AmxContext::products(block, panel)), sums);
    }
  }
}

void AmxProduct::scale(unsigned side, unsigned blocks) {
  Tiles scales;
  for (unsigned panel = 0; panel < side; ++panel) {
    scales.push_back(lanes.takeMany("scales of a block", blocks));
    for (unsigned block = 0; block < blocks; ++block)
      lanes.load(scales[panel][block],
                 context.frame + AmxContext::expanded(panel, block, AmxContext::scalesLine));
  }
  const Tile totals = lanes.takeMany("total", side);
  forRows([&] {
    for (unsigned panel = 0; panel < side; ++panel)
      lanes.load(totals[panel], totalAt(panel));
    for (unsigned block = 0; block < blocks; ++block)
      scaleRow(totals, scales, block);
    for (unsigned panel = 0; panel < side; ++panel)
      lanes.store(totalAt(panel), totals[panel]);
  });
}

/// total = fma(float(sum), w * a, total), and what a minimum adds.
void AmxProduct::scaleRow(const Tile &totals, const Tiles &scales, unsigned block) {
  const Lanes16 rowScale = lanes.take("scale of a row");
  lanes.broadcast(rowScale, rowOf(AmxContext::rowBlocks(block)));
  for (unsigned panel = 0; panel < totals.size(); ++panel) {
    const Lanes16 sum = lanes.take("sum"), product = lanes.take("w * a");
    a.vcvtdq2ps(sum.parts[0], a.ptr[rowOf(AmxContext::products(block, panel))]);
    lanes.multiply(product, scales[panel][block], rowScale);
    lanes.fma(totals[panel], sum, product);
    if (hasMinimums())
      addMinimum(totals[panel], rowScale, panel, block);
  }
}

/// total = fma(minimum * a, sum of q, total)
void AmxProduct::addMinimum(const Lanes16 &total, const Lanes16 &rowScale, unsigned panel,
                            unsigned block) {
  const Lanes16 minimum = lanes.take("minimum");
  lanes.load(minimum, context.frame + AmxContext::expanded(panel, block, AmxContext::minimumsLine));
  lanes.multiply(minimum, minimum, rowScale);
  a.vfnmadd231ps(total.parts[0], minimum.parts[0], a.ptr_b[rowOf(AmxContext::negativeSums(block))]);
}

/// Every row of the group by itself: z, epilogue, y. Leaves `row` at the group's end.
void AmxProduct::finish(unsigned side) {
  Xbyak::Label top;
  a.mov(linear.row, context.firstRow());
  a.mov(context.totals, context.frame);
  a.xor_(context.offset, context.offset);
  a.L(top);
  finishRow(side);
  a.add(context.offset, lineBytes);
  a.add(linear.row, 1);
  a.cmp(linear.row, context.rowsEnd());
  a.jl(top);
}

void AmxProduct::finishRow(unsigned side) {
  Tiles z;
  for (unsigned panel = 0; panel < side; ++panel) {
    z.push_back(lanes.takeMany("total", 1));
    lanes.load(z[panel][0], totalAt(panel));
    if (linear.spec.weights == WeightFormat::MXFP4) // codes counted twice
      lanes.multiplyConstant(z[panel][0], z[panel][0], 0.5f);
  }
  finishAmxRow(epilogue, panelsOfUnit == 2, z);
}

} // namespace inf
