// Rows in q8 times mxfp4 weights, whose scales are all powers of two (those of rows by
// `--activations=mxint8`): a code times its scale is a bf16, so the scales go into the tiles and
// the sums stay there over all columns.
//
//   for each group of 128 rows:
//     their codes times scales, as bf16, go to the call's scratch
//     while there are panels, two at a time (a pair, with swiglu), at last one:
//       for each chunk of 4 blocks, whose weights are in the frame as bf16:
//         for each 32 rows, as two tiles:
//           sums[tile][panel] += rows[tile] * weights[panel], 32 columns at a time
//           beside the first 32 rows: expand the weights of the next chunk, block by block
//       y = epilogue(sums)
//
// The bits are those of total = fma(float(c), w * a, total), KernelArgs.h: of a block tdpbf16ps
// computes, from 0, the sums of even and of odd columns and what these add up to, total + (even +
// odd) being all that is rounded (Bf16Order::Groups). Here every product is an integer of at most
// 12 * 127 times w * a, a power of two, and so are the sums of 32 of them, below 2^16: exact in any
// order, even + odd = c * w * a, and fma rounds the same number once. No denormal comes of it,
// which tiles would take for 0, where w * a is normal, as everything is a multiple of one of these;
// no infinity but in the total where w * a is at most 2^110.
//
// With e for the exponent field of a and b for the byte of w, so what is asked is
//   a = 0, or a power of two and 1 <= e <= 247;   1 <= b <= 251;   128 <= b + e <= 364
// (e <= 247 keeps a code times a, -128 too, below infinity.) Padding outputs have b = 0, so a panel
// that ends a matrix may be done in the other way each time; gpt-oss has none.
// Rows are looked at while they are converted, weights while they are expanded: nothing has been
// stored yet when it turns out that a panel is not exact, and AmxProduct.cpp does it instead.
//
// Expanding: a word of a packed line, its bytes in the order 0, 2, 1, 3, holds the same nibble of
// two neighbouring columns in its bytes; vpermw looks up the lower five bits of each word, the
// fifth being a neighbour's, so the table is there twice. Values stand in it 2^124 times too large,
// and a saturating subtraction of (251 - b) from the exponent leaves a 0 what it is.
//
// Measured on Emerald Rapids, 64 rows, cycles for a tile and 32 columns, where tdpbf16ps takes 16:
// 43 in a prototype that expands a chunk before it multiplies, 47 to 49 in this kernel with all
// around it. Of the 43, expanding takes 13 (54 a panel and block, shared by 4 tiles), converting
// rows 2, and the rest is tiles of rows that come from the second level. Chunks of 16 blocks take
// 59, as their weights leave the first level; four panels side by side 60; rows converted for 16
// panels at a time and not for all, 59.
#include "codegen/linear/AmxExactProduct.h"

#include <bit>

#include "codegen/LaneTables.h"
#include "codegen/linear/AmxPanels.h"
#include "codegen/linear/AmxTiles.h"

namespace inf {
namespace {

constexpr auto blockBytes = static_cast<int>(weightBytes(WeightFormat::MXFP4, 16 * 32));
constexpr int scalesInBlock = 256;
constexpr int highestField = 247, highestByte = 251, lowestSum = 128, highestSum = 364;
/// A block is fetched so many ahead of its expansion.
constexpr int prefetchBlocks = 8;
static_assert(amxtiles::exactGroupRows == 128 && amxtiles::tileRows == 16,
              "linearScratchBytes counts on it");
constexpr uint32_t exponentShift = 23, mantissaBits = 0x7FFFFF;

/// A small integer times 2^124, as a bf16.
uint32_t tableValue(unsigned code) {
  const float twice = 2 * mxfp4Magnitudes[code % 8];
  if (twice == 0)
    return 0;
  const uint32_t bits = std::bit_cast<uint32_t>(code < 8 ? twice : -twice);
  return (bits >> 16) + (124u << 7);
}

std::vector<uint32_t> valueTable() {
  std::vector<uint32_t> words(16);
  for (unsigned i = 0; i < 32; ++i)
    words[i / 2] |= tableValue(i % 16) << (16 * (i % 2));
  return words;
}

/// Bytes 0, 2, 1, 3 of each four, counted within 16 bytes.
std::vector<uint32_t> byteOrder() {
  std::vector<uint32_t> words(16);
  for (uint32_t i = 0; i < 16; ++i)
    words[i] = 0x03010200 + 0x04040404 * (i % 4);
  return words;
}

} // namespace

AmxExactProduct::AmxExactProduct(AmxContext &amxContext, Epilogue &linearEpilogue,
                                 AmxProduct &generalProduct)
    : linear(amxContext.linear), epilogue(linearEpilogue), context(amxContext),
      general(generalProduct), a(context.a), lanes(*linear.lanes),
      table(lanes.takeRegister("values of codes")), order(lanes.takeRegister("order of bytes")),
      limit(lanes.takeRegister("251")), most(lanes.take("greatest scale")),
      deficit(lanes.take("greatest 251 - scale")) {}

void AmxExactProduct::loadConfiguration() {
  TileConfiguration tiles;
  for (size_t tile = 0; tile < 8; ++tile)
    tiles.setTile(tile, amxtiles::tileRows, lineBytes);
  a.ldtilecfg(a.ptr[a.rip + a.constant(tiles.words())]);
}

void AmxExactProduct::emit() {
  Xbyak::Label top, inGeneral, next;
  a.mov(context.rowsFrom(), 0);
  a.vmovups(table, a.ptr[a.rip + a.constant(valueTable())]);
  a.vmovups(order, a.ptr[a.rip + a.constant(byteOrder())]);
  a.vpbroadcastd(limit, a.dword[a.rip + a.constant({highestByte})]);
  a.L(top);
  beginRowGroup();
  convertRows();
  a.mov(linear.weights, linear.arg(offsetof(LinearArgs, weights)));
  a.xor_(linear.outOffset, linear.outOffset);
  a.cmp(lowest(), 0);
  a.je(inGeneral, Xbyak::CodeGenerator::T_NEAR);
  loadConfiguration();
  panels(AmxContext::mostPanels);
  if (!isPair(linear.spec))
    panels(1);
  a.jmp(next, Xbyak::CodeGenerator::T_NEAR);
  a.L(inGeneral);
  general.emit();
  a.L(next);
  a.mov(linear.temp, context.rowsLimit());
  a.mov(context.rowsFrom(), linear.temp);
  a.cmp(linear.temp, linear.arg(offsetof(LinearArgs, rows)));
  a.jl(top, Xbyak::CodeGenerator::T_NEAR);
}

void AmxExactProduct::beginRowGroup() {
  a.mov(linear.row, context.rowsFrom());
  a.lea(linear.temp, a.ptr[linear.row + amxtiles::exactGroupRows]);
  a.mov(end(), linear.arg(offsetof(LinearArgs, rows)));
  a.cmp(end(), linear.temp);
  a.cmovg(end(), linear.temp);
  a.mov(context.rowsLimit(), end());
  a.sub(end(), linear.row);
  a.mov(rowsOfGroup(), end());
}

/// A line for each block, and one more where that is an even number (linearScratchBytes).
void AmxExactProduct::setRowStride() {
  a.mov(rowStride(), linear.arg(offsetof(LinearArgs, columns)));
  a.shr(rowStride(), 5); // / blockColumns
  a.or_(rowStride(), 1);
  a.shl(rowStride(), 6); // * lineBytes
}

/// Their range too.
void AmxExactProduct::convertRows() {
  Xbyak::Label nextRow, nextBlock;
  const Lanes16 all = lanes.take("bits of all scales"), greatest = lanes.take("greatest scale"),
                least = lanes.take("2^32 - the least scale");
  for (const Lanes16 *each : {&all, &greatest, &least})
    lanes.setZero(*each);
  setRowStride();
  const Gpr &rowAt = linear.cursor;
  a.mov(rowAt, linear.arg(offsetof(LinearArgs, scratch)));
  a.L(nextRow);
  a.mov(at(), rowAt);
  a.mov(linear.temp, linear.arg(offsetof(LinearArgs, x)));
  a.mov(from(), a.ptr[linear.temp + linear.row * 8]);
  a.mov(linear.k, linear.arg(offsetof(LinearArgs, columns)));
  a.lea(second(), a.ptr[linear.k + 63]); // q8BlocksOffset
  a.and_(second(), -64);
  a.add(second(), from());
  a.L(nextBlock);
  {
    const Lanes16 scale = lanes.take("scale"), low = lanes.take("low half"),
                  high = lanes.take("high half");
    lanes.broadcast(scale, AmxContext::Address(second()));
    const Xbyak::Ymm &bits = scale.parts[0], &lower = low.parts[0], &upper = high.parts[0];
    const Lanes16 negative = lanes.take("2^32 - scale");
    a.vpord(all.parts[0], all.parts[0], bits);
    a.vpmaxud(greatest.parts[0], greatest.parts[0], bits);
    lanes.setZero(negative);
    a.vpsubd(negative.parts[0], negative.parts[0], bits);
    a.vpmaxud(least.parts[0], least.parts[0], negative.parts[0]);
    a.vpmovsxbd(lower, a.ptr[from()]);
    a.vpmovsxbd(upper, a.ptr[from() + 16]);
    for (const Lanes16 *half : {&low, &high}) {
      a.vcvtdq2ps(half->parts[0], half->parts[0]);
      lanes.multiply(*half, *half, scale);
    }
    a.vcvtne2ps2bf16(lower, upper, lower);
    a.vmovups(a.ptr[at()], lower);
  }
  a.add(from(), static_cast<uint32_t>(blockColumns));
  a.add(second(), sizeof(Q8Block));
  a.add(at(), lineBytes);
  a.sub(linear.k, static_cast<uint32_t>(blockColumns));
  a.jg(nextBlock);
  a.add(rowAt, rowStride());
  a.add(linear.row, 1);
  a.cmp(linear.row, context.rowsLimit());
  a.jl(nextRow);
  const auto moveFirst = [&](const Lanes16 &lanesAlike) {
    a.vmovd(linear.temp.cvt32(), Xbyak::Xmm(lanesAlike.parts[0].getIdx()));
  };
  Xbyak::Label inexact, some, done;
  moveFirst(all);
  a.test(linear.temp.cvt32(), mantissaBits);
  a.jnz(inexact);
  moveFirst(greatest);
  a.shr(linear.temp.cvt32(), exponentShift);
  a.cmp(linear.temp.cvt32(), highestField); // greater: NaN and negative too
  a.jg(inexact);
  a.mov(highest(), linear.temp);
  moveFirst(least);
  a.neg(linear.temp.cvt32());
  a.jnz(some);
  a.mov(linear.temp, 254u << exponentShift); // all are 0
  a.L(some);
  a.shr(linear.temp.cvt32(), exponentShift);
  a.mov(lowest(), linear.temp); // 0: a denormal
  a.jmp(done);
  a.L(inexact);
  a.mov(lowest(), 0);
  a.L(done);
}

void AmxExactProduct::panels(unsigned side) {
  forPanels(linear, context.stride, side, [&] { panelsAndRows(side); });
}

void AmxExactProduct::panelsAndRows(unsigned side) {
  Xbyak::Label top, inexact, done;
  lanes.setZero(most);
  lanes.setZero(deficit);
  a.mov(linear.cursor, linear.weights);
  a.lea(linear.temp, a.ptr[linear.weights + context.stride]);
  a.mov(cursorLimit(), linear.temp);
  a.lea(linear.temp, a.ptr[context.frame + weightsAt]);
  a.mov(current(), linear.temp);
  expandFirstChunk(side);
  a.xor_(linear.k, linear.k);
  a.L(top);
  chunk(side);
  a.add(linear.k, chunkColumns);
  a.cmp(linear.k, linear.arg(offsetof(LinearArgs, columns)));
  a.jl(top, Xbyak::CodeGenerator::T_NEAR);
  jumpUnlessExact(inexact);
  finish(side);
  a.jmp(done, Xbyak::CodeGenerator::T_NEAR);
  a.L(inexact);
  general.loadConfiguration();
  general.rowGroups(side);
  loadConfiguration();
  setRowStride();
  a.L(done);
}

void AmxExactProduct::expandFirstChunk(unsigned side) {
  Xbyak::Label done;
  for (unsigned block = 0; block < chunkBlocks; ++block) {
    a.cmp(linear.cursor, cursorLimit());
    a.jge(done, Xbyak::CodeGenerator::T_NEAR);
    expandBlock(side);
  }
  a.L(done);
}

/// Up to 4 blocks from column k on, which are expanded; those of the next chunk are, meanwhile.
void AmxExactProduct::chunk(unsigned side) {
  Xbyak::Label top, rest;
  a.mov(end(), linear.arg(offsetof(LinearArgs, columns)));
  a.sub(end(), linear.k);
  a.mov(linear.temp, chunkColumns);
  a.cmp(end(), linear.temp);
  a.cmovg(end(), linear.temp);
  a.shl(end(), 5); // tileBytes for each blockColumns
  a.add(end(), current());
  a.xor_(linear.row, linear.row); // counts from the group's first
  const auto tiles = [&](bool expandNext) {
    Xbyak::Label single, behind;
    a.mov(linear.temp, rowsOfGroup());
    a.sub(linear.temp, linear.row);
    a.cmp(linear.temp, amxtiles::tileRows);
    a.jle(single, Xbyak::CodeGenerator::T_NEAR);
    multiply({2, side, expandNext});
    a.add(linear.row, 2 * amxtiles::tileRows);
    a.jmp(behind, Xbyak::CodeGenerator::T_NEAR);
    a.L(single);
    multiply({1, side, expandNext});
    a.add(linear.row, amxtiles::tileRows);
    a.L(behind);
  };
  tiles(true);
  a.L(top);
  a.cmp(linear.row, rowsOfGroup());
  a.jge(rest, Xbyak::CodeGenerator::T_NEAR);
  tiles(false);
  a.jmp(top, Xbyak::CodeGenerator::T_NEAR);
  a.L(rest);
  a.mov(linear.temp, current());
  moveToOtherWeights(linear.temp);
  a.mov(current(), linear.temp);
}

/// From where the weights of a chunk are to where those of the next are.
void AmxExactProduct::moveToOtherWeights(const Gpr &address) {
  static_assert(std::has_single_bit(static_cast<unsigned>(chunkBytes)) && weightsAt % 64 == 0);
  a.sub(address, context.frame);
  a.sub(address, weightsAt);
  a.xor_(address, chunkBytes);
  a.add(address, weightsAt);
  a.add(address, context.frame);
}

/// The block at the cursor, of the panels side by side, to `temp`; moves both.
void AmxExactProduct::expandBlock(unsigned side) {
  for (unsigned panel = 0; panel < side; ++panel)
    expandPanel(panel);
  a.add(linear.cursor, blockBytes);
  a.add(linear.temp, tileBytes);
}

void AmxExactProduct::expandPanel(unsigned panel) {
  const LinearContext::Address block = linear.cursor + context.stride * static_cast<int>(panel);
  const Lanes16 shift = lanes.take("251 - scale, as exponents of two words"),
                scale = lanes.take("scale");
  const VectorRegister codes = lanes.takeRegister("line of codes");
  const Xbyak::Ymm &words = shift.parts[0];
  for (int line = 0; line < blockBytes; line += static_cast<int>(lineBytes))
    a.prefetcht0(a.ptr[block + prefetchBlocks * blockBytes + line]);
  a.vpmovzxbd(scale.parts[0], a.ptr[block + scalesInBlock]);
  a.vpmaxud(most.parts[0], most.parts[0], scale.parts[0]);
  a.vpsubd(words, limit, scale.parts[0]);
  a.vpmaxsd(deficit.parts[0], deficit.parts[0], words);
  a.vpslld(words, words, 7);
  a.vpslld(scale.parts[0], words, 16);
  a.vpord(words, words, scale.parts[0]);
  for (unsigned line = 0; line < 4; ++line) {
    a.vmovups(codes, a.ptr[block + static_cast<int>(line * lineBytes)]);
    expandLine(panel, line, codes, shift.parts[0]);
  }
}

/// Columns 4 l .. 4 l + 3 and the same + 16, pair by pair.
void AmxExactProduct::expandLine(unsigned panel, unsigned line, const VectorRegister &codes,
                                 const VectorRegister &shift) {
  struct Nibble {
    uint8_t bit;
    unsigned pair;
  };
  const VectorRegister values = lanes.takeRegister("values");
  a.vpshufb(codes, codes, order);
  for (const Nibble &nibble :
       {Nibble{0, 2 * line}, {4, 8 + 2 * line}, {8, 2 * line + 1}, {12, 8 + 2 * line + 1}}) {
    if (nibble.bit == 0) {
      a.vpermw(values, codes, table);
    } else {
      a.vpsrlw(values, codes, nibble.bit);
      a.vpermw(values, values, table);
    }
    a.vpsubusw(values, values, shift);
    a.vmovups(a.ptr[linear.temp + static_cast<int>(panel) * panelWeightBytes +
                    static_cast<int>(nibble.pair * lineBytes)],
              values);
  }
}

void AmxExactProduct::moveSumsAddress() {
  a.mov(linear.temp, linear.row);
  a.shl(linear.temp, 6); // * lineBytes
  a.add(linear.temp, context.frame);
}

/// Of the chunk, the rows from `row` on. Rows that a last tile lacks are what the scratch holds,
/// and their sums nobody reads.
void AmxExactProduct::multiply(Shape shape) {
  Xbyak::Label top, first, begun;
  a.mov(from(), rowStride());
  a.imul(from(), linear.row);
  a.add(from(), linear.arg(offsetof(LinearArgs, scratch)));
  a.lea(from(), a.ptr[from() + linear.k * 2]);
  if (shape.tiles == 2) {
    a.mov(second(), rowStride());
    a.shl(second(), 4); // * tileRows
    a.add(second(), from());
  }
  a.mov(at(), current());
  a.test(linear.k, linear.k);
  a.jz(first);
  moveSumsAddress();
  moveSums(shape, false);
  a.jmp(begun);
  a.L(first);
  for (unsigned tile = 0; tile < shape.tiles; ++tile)
    for (unsigned panel = 0; panel < shape.side; ++panel)
      a.tilezero(sumTile(tile, panel));
  a.L(begun);
  if (shape.expandNext) {
    a.mov(linear.temp, at());
    moveToOtherWeights(linear.temp);
  }
  a.L(top);
  multiplyBlock(shape);
  if (shape.expandNext) {
    Xbyak::Label none;
    a.cmp(linear.cursor, cursorLimit());
    a.jge(none, Xbyak::CodeGenerator::T_NEAR);
    expandBlock(shape.side);
    a.L(none);
  }
  a.cmp(at(), end());
  a.jl(top, Xbyak::CodeGenerator::T_NEAR);
  moveSumsAddress();
  moveSums(shape, true);
}

void AmxExactProduct::multiplyBlock(Shape shape) {
  for (unsigned tile = 0; tile < shape.tiles; ++tile) {
    a.tileloadd(rowTile(tile), a.ptr[(tile == 0 ? from() : second()) + rowStride()]);
    for (unsigned panel = 0; panel < shape.side; ++panel) {
      if (tile == 0)
        a.tileloadd(weightTile(panel),
                    a.ptr[at() + context.line + static_cast<int>(panel) * panelWeightBytes]);
      a.tdpbf16ps(sumTile(tile, panel), rowTile(tile), weightTile(panel));
    }
  }
  a.add(from(), lineBytes);
  if (shape.tiles == 2)
    a.add(second(), lineBytes);
  a.add(at(), tileBytes);
}

/// Between tiles and the frame, those of the rows at `temp`.
void AmxExactProduct::moveSums(Shape shape, bool store) {
  for (unsigned tile = 0; tile < shape.tiles; ++tile)
    for (unsigned panel = 0; panel < shape.side; ++panel) {
      const Xbyak::Address place =
          a.ptr[linear.temp + context.line + sumsAt + static_cast<int>(panel) * panelSumBytes +
                static_cast<int>(tile * tileBytes)];
      if (store)
        a.tilestored(place, sumTile(tile, panel));
      else
        a.tileloadd(sumTile(tile, panel), place);
    }
}

/// The greatest lane, which is below 2^24. Destroys the lanes.
void AmxExactProduct::moveGreatest(const Gpr &to, const Lanes16 &integers) {
  const VectorRegister &all = integers.parts[0];
  a.vcvtdq2ps(all, all);
  lanes.foldMax(integers);
  a.vcvtps2dq(all, all);
  a.vmovd(to.cvt32(), Xbyak::Xmm(all.getIdx()));
}

void AmxExactProduct::jumpUnlessExact(const Xbyak::Label &target) {
  constexpr auto near = Xbyak::CodeGenerator::T_NEAR;
  moveGreatest(linear.temp, most);
  a.cmp(linear.temp.cvt32(), highestByte);
  a.jg(target, near);
  a.add(linear.temp, highest());
  a.cmp(linear.temp.cvt32(), highestSum);
  a.jg(target, near);
  moveGreatest(linear.temp, deficit); // highestByte - the least
  a.cmp(linear.temp.cvt32(), highestByte);
  a.jge(target, near);
  a.sub(linear.temp, lowest()); // highestByte - least - lowest
  a.cmp(linear.temp.cvt32(), highestByte - lowestSum);
  a.jg(target, near);
}

/// Every row by itself: z, epilogue, y.
void AmxExactProduct::finish(unsigned side) {
  Xbyak::Label top;
  a.mov(linear.row, context.rowsFrom());
  a.lea(at(), a.ptr[context.frame + sumsAt]);
  a.L(top);
  {
    Tiles z;
    for (unsigned panel = 0; panel < side; ++panel) {
      z.push_back(lanes.takeMany("total", 1));
      lanes.load(z[panel][0], at() + static_cast<int>(panel) * panelSumBytes);
      lanes.multiplyConstant(z[panel][0], z[panel][0], 0.5f); // codes counted twice
    }
    finishAmxRow(epilogue, isPair(linear.spec), z);
  }
  a.add(at(), lineBytes);
  a.add(linear.row, 1);
  a.cmp(linear.row, context.rowsLimit());
  a.jl(top, Xbyak::CodeGenerator::T_NEAR);
}

void emitAmxTiles(LinearContext &linear, Epilogue &epilogue) {
  linear.x.clear();
  AmxContext context(linear);
  AmxProduct general(context, epilogue);
  context.enter();
  if (linear.spec.weights == WeightFormat::MXFP4) {
    AmxExactProduct(context, epilogue, general).emit();
  } else {
    context.a.mov(context.rowsFrom(), 0);
    context.a.mov(linear.temp, linear.arg(offsetof(LinearArgs, rows)));
    context.a.mov(context.rowsLimit(), linear.temp);
    general.emit();
  }
  context.a.tilerelease();
}

} // namespace inf
