// Rows in int8 times weights in blocks of 32 columns on AMX tiles: the sums of IntegerReduction.cpp
// with its bits, for many rows.
//
//   for each group of 128 rows:
//     their codes and scales go to the call's scratch, tile by tile
//     while there are panels, two at a time (a pair, with swiglu), at last one:
//       expand them to signed bytes, in scratch too                      AmxWeights.cpp
//       for each 16 rows:
//         for each panel:
//           totals = 0, in 16 vector registers
//           for each block:
//             tile(16 rows x 16 outputs, int32) = codes(16 x 32) * weights(32 x 16)
//             beside it for the tile of two blocks before, which is stored by now,
//               for each row:  total = fma(float(tile), w * a, total)
//         y = epilogue(totals)
//
//            32 columns                     16 outputs            one block and panel, K = 32:
//          +------------+                 +------------+          8192 products
//  16 rows | codes of q |   8 rows of     | o0 o0 o0 o0|...       tdpbssd: 16 rows, 16 cycles, half
//          +------------+   4 columns     +------------+          of what int8 tiles can do
//
// K = 64, a whole tile, would add two blocks of 32 into one sum, and each has its own scales: not
// used. Of a last tile with fewer rows the rest is what codes scratch holds, times scales of 0, and
// not used. Fewer than 8 rows are left to vpdpbusd.
//
// Cycles of a block, panel and 16 rows on Emerald Rapids, operands in the second level cache:
//   tiles alone          32: loads 3 x 16 lines, 16 stores; tdpbssd 16
//   scaling alone        21: vcvtdq2ps, vmulps, vfmadd231ps of 16 rows, on two ports
//   both                 48: while tdpbssd runs, port 5 neither multiplies nor converts, and all 48
//                            are port 0's; it adds, so a float made of an integer by two additions
//                            is free there. With every fourth row made so, 44.
// and expanding, 26 a block and panel, shared by all rows of the group. Storing a tile two blocks
// after its product leaves nothing to wait for; a block after it takes 60. (Loading sums from lines
// of zeros or of 1.5 * 2^23, instead of tilezero, takes 47: those are 16 more loads.)
//
// Vector registers: 16 totals, scales, minimums, 1.5 * 2^23, a sum, a product: 21 of 32. General
// registers: 7 by role and 8 of AmxContext, all 15.
#include "codegen/linear/AmxProduct.h"

#include "codegen/linear/AmxPanels.h"

namespace inf {
namespace {

constexpr auto near = Xbyak::CodeGenerator::T_NEAR;
constexpr auto lineBytes = static_cast<int>(AmxContext::lineBytes),
               tileBytes = static_cast<int>(AmxContext::tileBytes);

/// Added to an integer below 2^22 as an integer, and taken away as a float, it makes a float of it.
constexpr uint32_t magicBits = 0x4B400000; // 1.5 * 2^23
static_assert(32 * 127 * 128 < 1 << 22);

constexpr KernelSpec anyOnTiles = {
    .isa = KernelIsa::Amx, .inputs = InputFormat::Q8, .weights = WeightFormat::INT8};
static_assert(linearScratchBytes(anyOnTiles, 128, 32) == (2 + 8) * 2 * amxblock::bytes &&
                  amxtiles::groupRows == 128,
              "panels and tiles of rows, by pairs of blocks");

// Of either block of a pair.
Xbyak::Tmm sumTile(unsigned half) { return Xbyak::Tmm(static_cast<int>(half)); }
Xbyak::Tmm rowTile(unsigned half) { return Xbyak::Tmm(static_cast<int>(4 + half)); }
Xbyak::Tmm weightTile(unsigned half) { return Xbyak::Tmm(static_cast<int>(6 + half)); }

TileConfiguration tileConfiguration() {
  TileConfiguration tiles;
  for (size_t tile = 0; tile < 8; ++tile) {
    const bool rows = tile == 4 || tile == 5;
    tiles.setTile(tile, tile < 6 ? amxtiles::tileRows : blockColumns / 4,
                  rows ? blockColumns : AmxContext::lineBytes);
  }
  return tiles;
}

} // namespace

AmxProduct::AmxProduct(AmxContext &amxContext, Epilogue &linearEpilogue)
    : linear(amxContext.linear), epilogue(linearEpilogue), context(amxContext), a(context.a),
      lanes(*linear.lanes) {}

void AmxProduct::loadConfiguration() {
  a.ldtilecfg(a.ptr[a.rip + a.constant(tileConfiguration().words())]);
}

void AmxProduct::emitGroup() {
  beginGroup();
  emitPanels();
}

/// Where what lies in scratch, where nothing is laid out yet; how much of the next panels is asked
/// for in each step.
void AmxProduct::beginGroup() {
  const Gpr &rows = linear.row, &at = linear.k, &asked = linear.cursor;
  a.mov(rows, context.rowsLimit());
  a.sub(rows, context.rowsFrom());
  a.mov(at, linear.arg(offsetof(LinearArgs, columns)));
  a.shr(at, 5); // / blockColumns
  a.add(at, 1);
  a.and_(at, -2);
  a.imul(at, at, amxblock::bytes);
  a.mov(panelBytes(), at);
  a.mov(at, linear.arg(offsetof(LinearArgs, scratch)));
  if (linear.spec.weights == WeightFormat::MXFP4) { // + exactScratchBytes
    a.lea(linear.temp, a.ptr[rows + 31]);
    a.shr(linear.temp, 5);
    a.shl(linear.temp, 6);
    a.imul(linear.temp, linear.arg(offsetof(LinearArgs, columns)));
    a.lea(at, a.ptr[at + linear.temp + 2048]);
  }
  a.mov(expandedAt(), at);
  a.mov(laidOut(), 0);
  // Of the next panels, as many as these, so much that nearly all (0.86 with three tiles of int8)
  // or all are asked for at last.
  Xbyak::Label enough;
  const auto blockBytes =
      static_cast<uint32_t>(weightBytes(linear.spec.weights, panelRows * blockColumns));
  a.mov(asked, 2 * blockBytes);
  for (unsigned most = amxtiles::tileRows; most < amxtiles::groupRows; most *= 2) {
    a.cmp(rows, most);
    a.jle(enough);
    a.shr(asked, 1);
  }
  a.L(enough);
  a.mov(askedBytes(), asked);
}

void AmxProduct::emitPanels() {
  loadConfiguration();
  panels(AmxContext::mostPanels);
  if (!isPair(linear.spec))
    panels(1);
}

void AmxProduct::panels(unsigned side) {
  forPanels(linear, context.stride, side, [&] { panelsAndRows(side); });
}

void AmxProduct::panelsAndRows(unsigned side) {
  Xbyak::Label top, rowsAreThere;
  a.cmp(laidOut(), 0);
  a.jne(rowsAreThere, near);
  layOutRows();
  a.mov(laidOut(), 1);
  a.L(rowsAreThere);
  expand(side);
  a.lea(asking(), a.ptr[linear.weights + context.stride * static_cast<int>(side)]);
  a.lea(linear.temp, a.ptr[asking() + context.stride * static_cast<int>(side)]);
  a.mov(askingEnd(), linear.temp);
  a.mov(linear.temp, panelBytes());
  a.lea(linear.temp, a.ptr[linear.temp * 2]);
  a.add(linear.temp, expandedAt());
  a.mov(tileAt(), linear.temp);
  a.mov(linear.row, context.rowsFrom());
  a.L(top);
  for (unsigned panel = 0; panel < side; ++panel)
    reduce(panel);
  finish(side); // row is where the tile ends
  a.mov(linear.temp, panelBytes());
  a.add(tileAt(), linear.temp);
  a.cmp(linear.row, context.rowsLimit());
  a.jl(top, near);
}

/// Rows come as pointers: their codes and Q8Blocks to scratch.
void AmxProduct::layOutRows() {
  Xbyak::Label top;
  a.mov(linear.row, context.rowsFrom());
  a.L(top);
  layOutRow(true);
  a.add(linear.row, 1);
  a.cmp(linear.row, context.rowsLimit());
  a.jl(top, near);
  // Rows that the last tile lacks are scaled too: by 0, as what scratch holds may be denormal, and
  // a multiplication takes 100 cycles more for it.
  Xbyak::Label missing, whole;
  a.L(missing);
  a.mov(linear.temp, linear.row);
  a.sub(linear.temp, context.rowsFrom());
  a.test(linear.temp, amxtiles::tileRows - 1);
  a.jz(whole, near);
  layOutRow(false);
  a.add(linear.row, 1);
  a.jmp(missing, near);
  a.L(whole);
}

/// One that is not there: its scales and sums alone, 0.
void AmxProduct::layOutRow(bool there) {
  const Gpr &from = context.work[0], &blocks = context.work[1], &codesAt = context.work[2],
            &valuesAt = context.work[3];
  a.mov(linear.temp, linear.row);
  a.sub(linear.temp, context.rowsFrom());
  a.mov(codesAt, linear.temp);
  a.shr(codesAt, 4); // / tileRows
  a.add(codesAt, 2); // panels
  a.imul(codesAt, panelBytes());
  a.add(codesAt, expandedAt());
  a.and_(linear.temp, amxtiles::tileRows - 1);
  a.lea(valuesAt, a.ptr[codesAt + linear.temp * 4]);
  a.shl(linear.temp, 6); // * lineBytes
  a.add(codesAt, linear.temp);
  a.mov(linear.temp, linear.arg(offsetof(LinearArgs, x)));
  if (there)
    a.mov(from, a.ptr[linear.temp + linear.row * 8]);
  a.mov(linear.k, linear.arg(offsetof(LinearArgs, columns)));
  a.lea(blocks, a.ptr[linear.k + 63]); // q8BlocksOffset
  a.and_(blocks, -64);
  a.add(blocks, from);
  const auto layOutBlock = [&](int half) {
    const int block = half * static_cast<int>(sizeof(Q8Block)), at = half * lineBytes;
    if (!there) {
      a.mov(a.dword[valuesAt + rowScalesAt + at], 0);
      a.mov(a.dword[valuesAt + rowSumsAt + at], 0);
      return;
    }
    a.mov(linear.temp.cvt32(), a.dword[blocks + block]);
    a.mov(a.dword[valuesAt + rowScalesAt + at], linear.temp.cvt32());
    if (!hasMinimums())
      return;
    const VectorRegister sum = lanes.takeRegister("sum");
    const Xbyak::Xmm lane(sum.getIdx());
    a.vmovd(lane, a.dword[blocks + block + static_cast<int>(offsetof(Q8Block, minus16Sum))]);
    a.vpsrad(sum, sum, 4); // of all lanes: the first counts
    a.vcvtdq2ps(sum, sum);
    a.vmovd(a.dword[valuesAt + rowSumsAt + at], lane);
  };
  Xbyak::Label top, done;
  a.L(top);
  if (there) {
    const VectorRegister codes = lanes.takeRegister("codes of two blocks");
    a.vmovups(codes, a.ptr[from]); // a single block's are the row's last 32 and their padding
    a.vmovups(a.ptr[codesAt], codes);
  }
  layOutBlock(0);
  a.cmp(linear.k, static_cast<uint32_t>(blockColumns));
  a.jle(done);
  layOutBlock(1);
  a.add(from, lineBytes);
  a.add(blocks, 2 * sizeof(Q8Block));
  a.add(codesAt, pairBytes);
  a.add(valuesAt, pairBytes);
  a.sub(linear.k, static_cast<uint32_t>(2 * blockColumns));
  a.jg(top, near);
  a.L(done);
}

void AmxProduct::expand(unsigned side) {
  const Gpr &to = weightsAt();
  a.mov(linear.cursor, linear.weights);
  for (unsigned panel = 0; panel < side; ++panel) {
    a.mov(to, expandedAt());
    if (panel > 0)
      a.add(to, panelBytes());
    emitExpandedPanel(context, linear.cursor, to);
  }
}

/// The tile's rows times a panel, all columns; totals to the frame. An odd number of blocks has a
/// last pair whose second block is whatever scratch holds, which is multiplied and not added.
void AmxProduct::reduce(unsigned panel) {
  const Tile totals = lanes.takeMany("total", amxtiles::tileRows);
  const VectorRegister magic = lanes.takeRegister("1.5 * 2^23");
  for (const Lanes16 &total : totals)
    lanes.setZero(total);
  a.vpbroadcastd(magic, a.dword[a.rip + a.constant({magicBits})]);
  a.mov(rowsAt(), tileAt());
  a.mov(weightsAt(), expandedAt());
  if (panel > 0)
    a.add(weightsAt(), panelBytes());
  const auto nextPair = [&] {
    a.add(rowsAt(), pairBytes);
    a.add(weightsAt(), pairBytes);
  };
  for (unsigned half = 0; half < 2; ++half)
    multiply(half);
  nextPair();
  a.mov(linear.k, linear.arg(offsetof(LinearArgs, columns)));
  a.sub(linear.k, static_cast<uint32_t>(2 * blockColumns));
  Xbyak::Label top, last, done;
  const auto storeProduct = [&](unsigned half) {
    a.tilestored(
        a.ptr[context.frame + context.line + productsAt + static_cast<int>(half) * tileBytes],
        sumTile(half));
  };
  a.L(top);
  a.cmp(linear.k, 0);
  a.jle(last, near);
  askForNext();
  for (unsigned half = 0; half < 2; ++half) {
    storeProduct(half);
    multiply(half);
    scale(totals, magic, half);
  }
  nextPair();
  a.sub(linear.k, static_cast<uint32_t>(2 * blockColumns));
  a.jmp(top, near);
  a.L(last);
  storeProduct(0);
  storeProduct(1);
  scale(totals, magic, 0);
  a.cmp(linear.k, 0);
  a.jl(done, near);
  scale(totals, magic, 1);
  a.L(done);
  for (unsigned row = 0; row < amxtiles::tileRows; ++row)
    lanes.store(context.frame + totalsAt + static_cast<int>(panel) * tileBytes +
                    static_cast<int>(row) * lineBytes,
                totals[row]);
}

void AmxProduct::askForNext() {
  Xbyak::Label top, done;
  a.cmp(asking(), askingEnd());
  a.jge(done);
  a.mov(linear.temp, askedBytes());
  a.add(linear.temp, asking());
  a.L(top);
  a.prefetcht1(a.ptr[asking()]);
  a.add(asking(), lineBytes);
  a.cmp(asking(), linear.temp);
  a.jl(top);
  a.L(done);
}

/// The first or second block of the pair that the pointers are at.
void AmxProduct::multiply(unsigned half) {
  const int block = static_cast<int>(half);
  a.tilezero(sumTile(half));
  a.tileloadd(rowTile(half),
              a.ptr[rowsAt() + context.line + block * static_cast<int>(blockColumns)]);
  a.tileloadd(weightTile(half), a.ptr[weightsAt() + context.line + block * amxblock::bytes]);
  a.tdpbssd(sumTile(half), rowTile(half), weightTile(half));
}

/// total = fma(float(sum), w * a, total), and what a minimum adds, for a block of the pair before
/// the one that the pointers are at: total = fma(minimum * a, sum of q, total).
void AmxProduct::scale(const Tile &totals, const VectorRegister &magic, unsigned half) {
  const int block = static_cast<int>(half);
  const auto weightLine = weightsAt() - pairBytes + block * amxblock::bytes;
  const auto rowLine = rowsAt() - pairBytes + block * lineBytes;
  const VectorRegister scales = lanes.takeRegister("scales of the block");
  Lanes16 minimums;
  a.vmovups(scales, a.ptr[weightLine + amxblock::scalesAt]);
  if (hasMinimums()) {
    minimums = lanes.take("minimums of the block");
    lanes.load(minimums, weightLine + amxblock::minimumsAt);
  }
  for (int row = 0; row < static_cast<int>(amxtiles::tileRows); ++row) {
    const VectorRegister sum = lanes.takeRegister("sum"), factor = lanes.takeRegister("w * a");
    const Xbyak::Ymm &total = totals[static_cast<size_t>(row)].parts[0];
    const Xbyak::Address product =
        a.ptr[context.frame + productsAt + block * tileBytes + row * lineBytes];
    if (row % 4 == 3) {
      a.vpaddd(sum, magic, product);
      a.vsubps(sum, sum, magic);
    } else {
      a.vcvtdq2ps(sum, product);
    }
    a.vmulps(factor, scales, a.ptr_b[rowLine + rowScalesAt + row * 4]);
    a.vfmadd231ps(total, sum, factor);
    if (!hasMinimums())
      continue;
    a.vmulps(factor, minimums.parts[0], a.ptr_b[rowLine + rowScalesAt + row * 4]);
    a.vfnmadd231ps(total, factor, a.ptr_b[rowLine + rowSumsAt + row * 4]);
  }
}

/// Every row of the tile by itself: z, epilogue, y. Leaves `row` at the tile's end.
void AmxProduct::finish(unsigned side) {
  Xbyak::Label top;
  const Gpr &at = context.work[2], &end = context.work[3];
  a.lea(end, a.ptr[linear.row + amxtiles::tileRows]);
  a.cmp(end, context.rowsLimit());
  a.cmovg(end, context.rowsLimit());
  a.lea(at, a.ptr[context.frame + totalsAt]);
  a.L(top);
  {
    Tiles z;
    for (unsigned panel = 0; panel < side; ++panel) {
      z.push_back(lanes.takeMany("total", 1));
      lanes.load(z[panel][0], at + static_cast<int>(panel) * tileBytes);
      if (linear.spec.weights == WeightFormat::MXFP4) // codes counted twice
        lanes.multiplyConstant(z[panel][0], z[panel][0], 0.5f);
    }
    finishAmxRow(epilogue, isPair(linear.spec), z);
  }
  a.add(at, lineBytes);
  a.add(linear.row, 1);
  a.cmp(linear.row, end);
  a.jl(top, near);
}

} // namespace inf
