// Rows in q8 times mxfp4 weights, whose scales are all powers of two (those of rows by
// `--activations=mxint8`): a code times its scale is a bf16, so the scales go into the tiles and
// the sums stay there over all columns.
//
//   for each group of 128 rows:
//     their codes times scales, as bf16, go to the call's scratch, tile by tile
//     while there are panels, two at a time (a pair, with swiglu), at last one:
//       look at the panels' scales
//       expand the weights of 3 blocks
//       for each 32 rows, as two tiles, or the last 33 to 48 as three, or up to 16 as one:
//         for each block:
//           sums[tile][panel] += rows[tile] * weights[panel]
//           beside it expand the weights 3 blocks on, behind the last block those of the first for
//           the next rows, and ask for some of the next panels
//         y = epilogue(sums)
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
// Panels that are not exact are left to AmxProduct.cpp.
//
// Cycles of a step, two tiles by two panels by 32 columns, where tdpbf16ps takes 64:
//   tiles alone, rows from the second level                                         68
//   expanding two panels alone (AmxExactWeights.h)                                  69
//   both, weights in the second level                                               85
//   both, weights from memory, 64 rows, with all around it                          95
// So weights are expanded anew for each 32 rows. Expanding them once and keeping them means sums
// that leave the tiles and come back (some 170 cycles for each change of rows, which nothing
// overlaps) or weights that come from the second level beside the rows (21 cycles a KiB, 4 KiB a
// step). What counts besides, measured in a prototype on Emerald Rapids:
//   - a tile is loaded as soon as the product before has read the one whose place it takes: 91 to
//     85; the scheduler fills with expanding, so what comes later in the code is late
//   - few lines of the next panels are asked for at a time: 10 a step keep as many fill buffers
//     busy as rows need to come from the second level, 109; 5 a step, 98
//   - weights 3 blocks ahead in 4 places, 85; 4 in 8, 96
//   - three tiles of rows by two panels, 6 of 8 tiles being sums: 120 for 96, no faster a tile, but
//     two and one take 85 and 78
#include "codegen/linear/AmxExactProduct.h"

#include "codegen/linear/AmxTiles.h"

namespace inf {
namespace {

constexpr auto blockBytes = static_cast<int>(weightBytes(WeightFormat::MXFP4, 16 * 32));
constexpr int scalesInBlock = 256;
constexpr auto near = Xbyak::CodeGenerator::T_NEAR;
constexpr int highestField = 247, highestByte = AmxExactWeights::highestByte, lowestSum = 128,
              highestSum = 364;
constexpr uint32_t exponentShift = 23, mantissaBits = 0x7FFFFF;
static_assert(amxtiles::groupRows == 128 && amxtiles::tileRows == 16,
              "exactScratchBytes counts on it");
static_assert(exactScratchBytes(1, 32) - exactScratchBytes(0, 32) == 2 * 16 * 64 &&
                  exactScratchBytes(0, 32) == 2 * 16 * 64,
              "pairs of tiles, and a block of one more");

Xbyak::Tmm sumTile(unsigned tile, unsigned panel) {
  return Xbyak::Tmm(static_cast<int>(2 * tile + panel));
}
/// Three tiles take six of the eight for sums, so rows have one and weights have one; else each
/// has its own.
Xbyak::Tmm rowTile(unsigned tiles, unsigned tile) {
  return Xbyak::Tmm(static_cast<int>(tiles == 3 ? 6 : 4 + tile));
}
Xbyak::Tmm weightTile(unsigned tiles, unsigned panel) {
  return Xbyak::Tmm(static_cast<int>(tiles == 3 ? 7 : 6 + panel));
}

} // namespace

AmxExactProduct::AmxExactProduct(AmxContext &amxContext, Epilogue &linearEpilogue,
                                 AmxProduct &generalProduct)
    : linear(amxContext.linear), epilogue(linearEpilogue), context(amxContext),
      general(generalProduct), a(context.a), lanes(*linear.lanes) {}

void AmxExactProduct::loadConfiguration() {
  TileConfiguration tiles;
  for (size_t tile = 0; tile < 8; ++tile)
    tiles.setTile(tile, amxtiles::tileRows, lineBytes);
  a.ldtilecfg(a.ptr[a.rip + a.constant(tiles.words())]);
}

void AmxExactProduct::emitGroup() {
  Xbyak::Label inGeneral, done;
  general.beginGroup();
  convertRows();
  a.cmp(lowest(), 0);
  a.je(inGeneral, near);
  loadConfiguration();
  panels(AmxContext::mostPanels);
  if (!isPair(linear.spec))
    panels(1);
  a.jmp(done, near);
  a.L(inGeneral);
  general.emitPanels();
  a.L(done);
}

/// To scratch[pair of tiles][block][tile][row][64 bytes]. Looks at their range too.
void AmxExactProduct::convertRows() {
  Xbyak::Label nextRow, nextBlock;
  const Lanes16 all = lanes.take("bits of all scales"), greatest = lanes.take("greatest scale"),
                least = lanes.take("2^32 - the least scale");
  for (const Lanes16 *each : {&all, &greatest, &least})
    lanes.setZero(*each);
  const Gpr &at = linear.cursor, &from = context.work[0], &scales = context.work[1];
  a.mov(linear.row, context.rowsFrom());
  a.L(nextRow);
  moveRowsAddress(at); // of the pair's first
  a.mov(linear.temp, linear.row);
  a.sub(linear.temp, context.rowsFrom());
  a.and_(linear.temp, stepRows - 1);
  a.shl(linear.temp, 6); // * lineBytes
  a.add(at, linear.temp);
  a.mov(linear.temp, linear.arg(offsetof(LinearArgs, x)));
  a.mov(from, a.ptr[linear.temp + linear.row * 8]);
  a.mov(linear.k, linear.arg(offsetof(LinearArgs, columns)));
  a.lea(scales, a.ptr[linear.k + 63]); // q8BlocksOffset
  a.and_(scales, -64);
  a.add(scales, from);
  a.L(nextBlock);
  {
    const Lanes16 scale = lanes.take("scale"), low = lanes.take("low half"),
                  high = lanes.take("high half");
    lanes.broadcast(scale, AmxContext::Address(scales));
    const Xbyak::Ymm &bits = scale.parts[0], &lower = low.parts[0], &upper = high.parts[0];
    const Lanes16 negative = lanes.take("2^32 - scale");
    a.vpord(all.parts[0], all.parts[0], bits);
    a.vpmaxud(greatest.parts[0], greatest.parts[0], bits);
    lanes.setZero(negative);
    a.vpsubd(negative.parts[0], negative.parts[0], bits);
    a.vpmaxud(least.parts[0], least.parts[0], negative.parts[0]);
    a.vpmovsxbd(lower, a.ptr[from]);
    a.vpmovsxbd(upper, a.ptr[from + 16]);
    for (const Lanes16 *half : {&low, &high}) {
      a.vcvtdq2ps(half->parts[0], half->parts[0]);
      lanes.multiply(*half, *half, scale);
    }
    a.vcvtne2ps2bf16(lower, upper, lower);
    a.vmovups(a.ptr[at], lower);
  }
  a.add(from, static_cast<uint32_t>(blockColumns));
  a.add(scales, sizeof(Q8Block));
  a.add(at, stepRowBytes);
  a.sub(linear.k, static_cast<uint32_t>(blockColumns));
  a.jg(nextBlock);
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
  Xbyak::Label top, single, two, finished, inexact, done;
  jumpUnlessExact(side, inexact);
  a.mov(areExpanded(), 0);
  a.mov(linear.row, context.rowsFrom());
  a.L(top);
  a.mov(linear.temp, context.rowsLimit());
  a.mov(stepEnd(), linear.temp);
  a.sub(linear.temp, linear.row);
  a.cmp(linear.temp, amxtiles::tileRows);
  a.jle(single, near);
  a.cmp(linear.temp, 2 * amxtiles::tileRows);
  a.jle(two, near);
  a.cmp(linear.temp, 3 * amxtiles::tileRows);
  a.jg(two, near);
  multiply({3, side});
  a.jmp(finished, near);
  a.L(single);
  multiply({1, side});
  a.jmp(finished, near);
  a.L(two);
  a.lea(linear.temp, a.ptr[linear.row + stepRows]);
  a.cmp(linear.temp, stepEnd());
  a.cmovg(linear.temp, stepEnd());
  a.mov(stepEnd(), linear.temp);
  multiply({2, side});
  a.L(finished);
  finish(side);
  a.cmp(linear.row, context.rowsLimit());
  a.jl(top, near);
  a.jmp(done, near);
  a.L(inexact);
  general.loadConfiguration();
  general.panelsAndRows(side);
  loadConfiguration();
  a.L(done);
}

/// Where scratch holds the pair of tiles that has the row `row`.
void AmxExactProduct::moveRowsAddress(const Gpr &to) {
  a.mov(to, linear.row);
  a.sub(to, context.rowsFrom());
  a.and_(to, -static_cast<int>(stepRows));
  a.imul(to, linear.arg(offsetof(LinearArgs, columns)));
  a.add(to, to); // 2 bytes a column
  a.add(to, linear.arg(offsetof(LinearArgs, scratch)));
}

/// The rows from `row` on, all columns; sums to the frame. Rows that a last tile lacks are what the
/// scratch holds, and their sums nobody reads.
void AmxExactProduct::multiply(Shape shape) {
  const AmxExactWeights expanding(linear);
  beginAsking(shape);
  moveRowsAddress(rowsAt());
  if (shape.tiles == 3) {
    a.mov(thirdAt(), linear.arg(offsetof(LinearArgs, columns)));
    a.shl(thirdAt(), 6); // stepRows * 2
    a.add(thirdAt(), rowsAt());
  }
  Xbyak::Label areThere, top, around, expanded, last, rest, done;
  a.cmp(areExpanded(), 0);
  a.jne(areThere, near);
  a.lea(linear.temp, a.ptr[linear.weights + context.stride]);
  a.mov(cursorLimit(), linear.temp);
  expandFirst(expanding, shape.side);
  a.mov(place(), blockBytesInFrame);
  a.L(areThere);
  pointAtWeights(false);
  for (unsigned tile = 0; tile < (shape.tiles == 3 ? 1 : shape.tiles); ++tile)
    loadRows(shape, tile, false);
  for (unsigned panel = 0; panel < (shape.tiles == 3 ? 1 : shape.side); ++panel)
    loadWeights(shape, panel);
  for (unsigned tile = 0; tile < shape.tiles; ++tile)
    for (unsigned panel = 0; panel < shape.side; ++panel)
      a.tilezero(sumTile(tile, panel));
  a.mov(linear.k, linear.arg(offsetof(LinearArgs, columns)));
  a.L(top);
  a.cmp(linear.cursor, cursorLimit());
  a.jge(expanded, near);
  a.L(around);
  step(shape, &expanding);
  a.test(linear.k, linear.k);
  a.jnz(top, near);
  a.jmp(done, near);
  // All columns are expanded. With more rows to come the last steps go on with their first ones.
  a.L(expanded);
  a.mov(areExpanded(), 0);
  a.mov(linear.temp, stepEnd());
  a.cmp(linear.temp, context.rowsLimit());
  a.jge(last);
  a.cmp(linear.arg(offsetof(LinearArgs, columns)), blocksAhead * static_cast<int>(blockColumns));
  a.jl(last); // fewer blocks than are ahead
  a.mov(areExpanded(), 1);
  a.mov(linear.cursor, linear.weights);
  a.jmp(around, near);
  a.L(rest);
  step(shape, nullptr);
  a.L(last);
  a.test(linear.k, linear.k);
  a.jnz(rest, near);
  a.L(done);
  for (unsigned tile = 0; tile < shape.tiles; ++tile)
    for (unsigned panel = 0; panel < shape.side; ++panel)
      a.tilestored(
          a.ptr[context.frame + context.line + sumsAt + static_cast<int>(panel) * panelSumBytes +
                static_cast<int>(tile * tileBytes)],
          sumTile(tile, panel));
}

/// Of the next two panels the first 32 rows ask for one, the second for the other; up to 48 rows,
/// which go in one step, for both.
void AmxExactProduct::beginAsking(Shape shape) {
  Xbyak::Label first;
  a.lea(asking(), a.ptr[linear.weights + context.stride * static_cast<int>(shape.side)]);
  a.mov(linear.temp, linear.row);
  a.sub(linear.temp, context.rowsFrom());
  a.test(linear.temp, stepRows); // every second
  a.jz(first);
  a.add(asking(), context.stride);
  a.L(first);
  a.mov(linear.temp, context.rowsLimit());
  a.sub(linear.temp, context.rowsFrom());
  a.mov(rowsOfGroup(), linear.temp);
}

void AmxExactProduct::askFor(const Address &block) {
  for (int line = 0; line < blockBytes; line += static_cast<int>(lineBytes))
    a.prefetcht1(a.ptr[block + line]);
}

/// Those that the first products find expanded.
void AmxExactProduct::expandFirst(const AmxExactWeights &expanding, unsigned side) {
  Xbyak::Label top;
  a.mov(linear.cursor, linear.weights);
  a.lea(linear.temp, a.ptr[linear.weights + blocksAhead * blockBytes]);
  a.cmp(linear.temp, cursorLimit());
  a.cmovg(linear.temp, cursorLimit());
  a.lea(expandedAt(), a.ptr[context.frame + weightsAt]);
  a.L(top);
  for (unsigned panel = 0; panel < side; ++panel) {
    const Address block = packedBlock(panel);
    const VectorRegister scales = expanding.scales(block);
    for (unsigned line = 0; line < AmxExactWeights::packedLines; ++line)
      expanding.line(block, line, scales, expandedBlock(panel));
  }
  a.add(linear.cursor, blockBytes);
  a.add(expandedAt(), blockBytesInFrame);
  a.cmp(linear.cursor, linear.temp);
  a.jl(top, near);
}

void AmxExactProduct::loadRows(Shape shape, unsigned tile, bool ofNext) {
  const Gpr &at = tile == 2 ? thirdAt() : rowsAt();
  a.tileloadd(rowTile(shape.tiles, tile), a.ptr[at + context.line + (ofNext ? stepRowBytes : 0) +
                                                static_cast<int>(tile % 2 * tileBytes)]);
}

/// Of the block that temp points at.
void AmxExactProduct::loadWeights(Shape shape, unsigned panel) {
  a.tileloadd(weightTile(shape.tiles, panel),
              a.ptr[linear.temp + context.line + static_cast<int>(panel * tileBytes)]);
}

/// Lets temp point at the next block's in the frame, or at this one's.
void AmxExactProduct::pointAtWeights(bool ofNext) {
  if (ofNext) {
    a.lea(linear.temp, a.ptr[context.frame + place() + weightsAt]);
    return;
  }
  a.lea(linear.temp, a.ptr[place() - blockBytesInFrame]);
  a.and_(linear.temp, places * blockBytesInFrame - 1);
  a.lea(linear.temp, a.ptr[context.frame + linear.temp + weightsAt]);
}

/// One or two tiles: each operand has a tile of its own, and what the next step takes is loaded. A
/// third: row by row of tiles and back, so that one operand stays, and what the next product takes
/// is loaded.
std::vector<AmxExactProduct::Product> AmxExactProduct::productsOf(Shape shape) {
  std::vector<Product> products;
  for (unsigned tile = 0; tile < shape.tiles; ++tile)
    for (unsigned i = 0; i < shape.side; ++i) {
      const unsigned panel = shape.tiles == 3 && tile == 1 ? shape.side - 1 - i : i;
      const bool lastOfRows = i + 1 == shape.side, lastOfWeights = tile + 1 == shape.tiles;
      products.push_back({tile, panel, lastOfRows ? static_cast<int>(tile) : -1,
                          lastOfWeights ? static_cast<int>(panel) : -1, true});
    }
  if (shape.tiles != 3)
    return products;
  for (size_t i = 0; i + 1 < products.size(); ++i) {
    const Product &next = products[i + 1];
    Product &product = products[i];
    product.rowsToLoad = next.tile == product.tile ? -1 : static_cast<int>(next.tile);
    product.weightsToLoad = next.panel == product.panel ? -1 : static_cast<int>(next.panel);
    product.ofNext = false;
  }
  products.back().rowsToLoad = products.back().weightsToLoad = 0;
  return products;
}

/// One block. With `expanding`, the weights at the cursor are expanded between the products. What
/// the last one loads is not used, and there: a place of the frame, and scratch behind the rows.
void AmxExactProduct::step(Shape shape, const AmxExactWeights *expanding) {
  static_assert(places == 4 && blocksAhead == places - 1,
                "of the places, the next block's and the one to be filled differ in bit 1");
  std::vector<VectorRegister> scales;
  if (expanding) {
    a.mov(linear.temp, place());
    a.xor_(linear.temp, 2 * blockBytesInFrame);
    a.lea(expandedAt(), a.ptr[context.frame + linear.temp + weightsAt]);
    for (unsigned panel = 0; panel < shape.side; ++panel)
      scales.push_back(expanding->scales(packedBlock(panel)));
  }
  askFor(Address(asking()));
  if (shape.side == 2) {
    Xbyak::Label others;
    a.cmp(rowsOfGroup(), 3 * amxtiles::tileRows);
    a.jg(others);
    askFor(asking() + context.stride);
    a.L(others);
  }
  const std::vector<Product> products = productsOf(shape);
  const size_t lines = shape.side * AmxExactWeights::packedLines;
  bool pointsAtNext = products.front().ofNext;
  pointAtWeights(pointsAtNext);
  for (size_t i = 0; i < products.size(); ++i) {
    const Product &product = products[i];
    a.tdpbf16ps(sumTile(product.tile, product.panel), rowTile(shape.tiles, product.tile),
                weightTile(shape.tiles, product.panel));
    if (product.ofNext && !pointsAtNext)
      pointAtWeights(true);
    pointsAtNext = product.ofNext;
    if (product.rowsToLoad >= 0)
      loadRows(shape, static_cast<unsigned>(product.rowsToLoad), product.ofNext);
    if (product.weightsToLoad >= 0)
      loadWeights(shape, static_cast<unsigned>(product.weightsToLoad));
    if (!expanding)
      continue;
    for (size_t line = i * lines / products.size(); line < (i + 1) * lines / products.size();
         ++line) {
      const auto panel = static_cast<unsigned>(line / AmxExactWeights::packedLines),
                 packed = static_cast<unsigned>(line % AmxExactWeights::packedLines);
      expanding->line(packedBlock(panel), packed, scales[panel], expandedBlock(panel));
    }
  }
  a.add(rowsAt(), stepRowBytes);
  if (shape.tiles == 3)
    a.add(thirdAt(), stepRowBytes);
  a.add(asking(), blockBytes);
  if (expanding)
    a.add(linear.cursor, blockBytes);
  a.add(place(), blockBytesInFrame);
  a.and_(place(), places * blockBytesInFrame - 1);
  a.sub(linear.k, static_cast<uint32_t>(blockColumns));
}

/// The greatest lane, which is below 2^24. Destroys the lanes.
void AmxExactProduct::moveGreatest(const Gpr &to, const Lanes16 &integers) {
  const VectorRegister &all = integers.parts[0];
  a.vcvtdq2ps(all, all);
  lanes.foldMax(integers);
  a.vcvtps2dq(all, all);
  a.vmovd(to.cvt32(), Xbyak::Xmm(all.getIdx()));
}

/// For each output the least and the greatest byte of all blocks.
void AmxExactProduct::jumpUnlessExact(unsigned side, const Xbyak::Label &target) {
  const Lanes16 most = lanes.take("greatest scale"), least = lanes.take("least scale"),
                limit = lanes.take("251");
  lanes.setBits(limit, std::vector<uint32_t>(16, highestByte));
  lanes.setZero(most);
  lanes.copy(least, limit); // greater ones don't count
  a.mov(linear.cursor, linear.weights);
  a.lea(linear.temp, a.ptr[linear.weights + context.stride]);
  Xbyak::Label top;
  a.L(top);
  for (unsigned panel = 0; panel < side; ++panel) {
    const Lanes16 scales = lanes.take("scales");
    const Xbyak::Ymm &bytes = scales.parts[0];
    a.vpmovzxbd(bytes, a.ptr[packedBlock(panel) + scalesInBlock]);
    a.vpmaxud(most.parts[0], most.parts[0], bytes);
    a.vpminud(least.parts[0], least.parts[0], bytes);
  }
  a.add(linear.cursor, blockBytes);
  a.cmp(linear.cursor, linear.temp);
  a.jl(top);
  const Lanes16 &deficit = least;
  a.vpsubd(deficit.parts[0], limit.parts[0], least.parts[0]);
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

/// Every row of the step by itself: z, epilogue, y. Leaves `row` behind them.
void AmxExactProduct::finish(unsigned side) {
  Xbyak::Label top;
  const Gpr &at = context.work[0], &end = context.work[1];
  a.mov(end, stepEnd());
  a.lea(at, a.ptr[context.frame + sumsAt]);
  a.L(top);
  {
    Tiles z;
    for (unsigned panel = 0; panel < side; ++panel) {
      z.push_back(lanes.takeMany("total", 1));
      lanes.load(z[panel][0], at + static_cast<int>(panel) * panelSumBytes);
      lanes.multiplyConstant(z[panel][0], z[panel][0], 0.5f); // codes counted twice
    }
    finishAmxRow(epilogue, isPair(linear.spec), z);
  }
  a.add(at, lineBytes);
  a.add(linear.row, 1);
  a.cmp(linear.row, end);
  a.jl(top, near);
}

void emitAmxTiles(LinearContext &linear, Epilogue &epilogue) {
  linear.x.clear();
  AmxContext context(linear);
  AmxProduct general(context, epilogue);
  context.enter();
  context.forRowGroups([&] {
    if (linear.spec.weights == WeightFormat::MXFP4)
      AmxExactProduct(context, epilogue, general).emitGroup();
    else
      general.emitGroup();
  });
  context.a.tilerelease();
}

} // namespace inf
