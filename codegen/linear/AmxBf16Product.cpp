// Rows in bf16 times bf16 weights on AMX tiles: the sums of Bf16GroupReduction.cpp with its bits,
// for many rows.
//
//   while there are panels, two at a time (a pair, with swiglu), at last one:
//     the columns behind the last whole 32, if any: their lines of weights, padded with zeros, go
//       to the frame
//     for each group of 32 rows, as two tiles, a rest of up to 16 as one:
//       sums = 0
//       for each chunk of up to 256 columns:
//         gather the chunk of each row into the frame
//         for each 32 columns:  sums[tile][panel] += rows[tile] * weights[panel]
//       the same for the padded columns
//       y = epilogue(sums)
//
//            32 columns                     16 outputs            one tile and panel: 8192 products
//          +------------+                 +------------+
//  16 rows | x0 x1 ...  |  16 pairs of    | o0 o0|o1 o1|...       tdpbf16ps: 16 rows, 16 cycles
//          +------------+     columns     +------------+
//
// A panel's lines (runtime/format/Pack.h, panel16_by2) are rows of the second operand as they lie
// there, so weights are loaded from where they are. Rows come as pointers and tiles are loaded with
// a stride, so rows are gathered. Sums stay in tiles over all columns: tdpbf16ps adds to them what
// the order says. Of a last tile with fewer rows its tiles have only these: they cost as many
// cycles, and nothing is computed that nobody wants. Zeros beyond the columns take part, as the
// order says.
//
// Cycles of 32 rows, 2 panels and 32 columns, from instruction counts and Intel's published
// throughputs:
//   tile unit    4 tdpbf16ps                                                       64
//   load ports   4 tiles 32, gathering 16                                          48
//   store port   gathering                                                         32
//   second level 2 KiB of rows and 2 KiB of weights, at the 48 bytes a cycle it sustains      85
// All overlapped 85 cycles, 385 products a cycle, 75 % of the 512 that bf16 tiles do at most; where
// rows or weights stay in the first level, all of them. Nothing overlapped, 64 and 85: 149, 43 %.
// Sums to outputs take some 300 cycles for all columns, 5 % where these are 2880. Up to 16 rows
// have two chains of sums, and wait 52 cycles for each: 315 products a cycle, 62 %, at best.
//
// Fewer than 8 rows are left to FMAs: a tile of R rows takes 48 R + 32 cycles for the same 2 KiB of
// weights (two instructions a pair of x, two a line of weights, a FMA for each line and row and
// half of the columns; two of these a cycle). From memory the weights come no faster than some 5
// bytes a cycle and core, in 410 cycles, and 7 rows, as 4 and 3, take 400. Fewer keep the bits, and
// nothing of a decode step depends on tiles.
//
// Vector registers: few. General registers: 7 by role and 8 here, all 15. Frame:
//            bytes             of
//   inputs   16 KiB  [32 rows][512]             a chunk of each row
//   totals    4 KiB  [2 panels][32 rows][64]    sums, f32
//   weights   2 KiB  [2 panels][16][64]         lines of the padded columns
//   and the tiles' configuration
#include "codegen/LaneTables.h"
#include "codegen/linear/AmxPanels.h"
#include "codegen/linear/AmxTiles.h"

namespace inf {
namespace {

constexpr unsigned lineBytes = 64, tileRows = amxtiles::tileRows, tileBytes = tileRows * lineBytes;
constexpr unsigned mostPanels = 2, mostTiles = 2, mostRows = mostTiles * tileRows;
constexpr unsigned chunkBytes = 512; ///< of a row
constexpr int groupColumns = 32;

// Places in the frame.
constexpr int inputsAt = 0;
constexpr int totalsAt = inputsAt + static_cast<int>(mostRows * chunkBytes);
constexpr int panelTotalBytes = static_cast<int>(mostRows * lineBytes);
constexpr int paddedAt = totalsAt + static_cast<int>(mostPanels) * panelTotalBytes;
constexpr int configurationAt = paddedAt + static_cast<int>(mostPanels * tileBytes);
constexpr int slotsAt = configurationAt + static_cast<int>(lineBytes);
static_assert(slotsAt + 3 * 8 + lineBytes <= amxtiles::bf16FrameBytes);

// Which tiles hold what.
Xbyak::Tmm sumTile(unsigned tile, unsigned panel) {
  return Xbyak::Tmm(static_cast<int>(2 * tile + panel));
}
Xbyak::Tmm rowTile(unsigned tile) { return Xbyak::Tmm(static_cast<int>(4 + tile)); }
Xbyak::Tmm weightTile(unsigned panel) { return Xbyak::Tmm(static_cast<int>(6 + panel)); }

/// Number 1 of the tiles of rows is the one that may have fewer: a rest of up to 16 rows is it
/// alone.
class AmxBf16Product {
public:
  AmxBf16Product(LinearContext &linearContext, Epilogue &linearEpilogue)
      : linear(linearContext), epilogue(linearEpilogue), a(linear.a), lanes(*linear.lanes) {}

  void emit() {
    enter();
    const auto tiles = [&](unsigned side) {
      forPanels(linear, stride, side, [&] {
        padWeights(side);
        rowGroups(side);
      });
    };
    tiles(mostPanels);
    if (!isPair(linear.spec))
      tiles(1);
    a.tilerelease();
  }

private:
  /// What a group's code is made for: tiles of rows, the first of them, panels side by side.
  struct Shape {
    unsigned tiles, side;
    unsigned firstTile() const { return mostTiles - tiles; }
  };

  void enter();
  void configuration();
  void maskOfPairs();
  void padWeights(unsigned side);
  void rowGroups(unsigned side);
  void rowGroup(Shape shape);
  void configureRows(Shape shape);
  void products(Shape shape);
  void wholeColumns(Shape shape);
  void gatherChunk();
  void multiplyChunk(Shape shape);
  void paddedColumns(Shape shape);
  template <typename Body> void forGatheredRows(Shape shape, Body body);
  void multiply(Shape shape);
  void finish(Shape shape);
  void skipUnlessPadded(const Xbyak::Label &done);

  Xbyak::Address rowsOfGroup() { return a.qword[frame + slotsAt]; }
  Xbyak::Address wholeBytes() { return a.qword[frame + slotsAt + 8]; } ///< of a row
  Xbyak::Address configuredRows() { return a.qword[frame + slotsAt + 16]; }

  LinearContext &linear;
  Epilogue &epilogue;
  KernelAssembler &a;
  LanesEmitter &lanes;

  Gpr frame = a.takeGeneral("frame, aligned to 64");
  Gpr line = a.takeGeneral("64: bytes between rows of a tile, 8 times that in inputs");
  Gpr stride = a.takeGeneral("bytes of a packed panel");
  Gpr size = a.takeGeneral("rows of the group, or bytes of the chunk");
  Gpr source = a.takeGeneral("row of x");
  Gpr at = a.takeGeneral("place in the frame");
  Gpr column = a.takeGeneral("byte of the chunk, or where the inputs end");
  Gpr left = a.takeGeneral("rows left");
  RegisterPool::Lease pairMask = a.registers().take(RegisterFile::Mask, "pairs that are padded");
};

void AmxBf16Product::enter() {
  a.lea(frame, a.ptr[a.rsp + (lineBytes - 1)]);
  a.and_(frame, -static_cast<int>(lineBytes));
  a.mov(line, lineBytes);
  a.mov(stride, linear.arg(offsetof(LinearArgs, columns)));
  a.mov(linear.temp, stride);
  a.and_(linear.temp, -groupColumns);
  a.add(linear.temp, linear.temp);
  a.mov(wholeBytes(), linear.temp);
  a.add(stride, 1);
  a.shr(stride, 1);
  a.shl(stride, 6); // a line for each pair
  configuration();
  maskOfPairs();
}

/// All tiles whole but those with number 1 of the rows, which are configured for each group.
void AmxBf16Product::configuration() {
  TileConfiguration tiles;
  for (size_t tile = 0; tile < 8; ++tile)
    tiles.setTile(tile, tileRows, lineBytes);
  const VectorRegister bytes = lanes.takeRegister("configuration");
  a.vmovups(bytes, a.ptr[a.rip + a.constant(tiles.words())]);
  a.vmovups(a.ptr[frame + configurationAt], bytes);
  a.mov(configuredRows(), 0);
}

/// Of the columns behind the last whole 32.
void AmxBf16Product::maskOfPairs() {
  const Lanes16 lane = lanes.take("lane number"), pairs = lanes.take("pairs");
  a.mov(linear.temp, linear.arg(offsetof(LinearArgs, columns)));
  a.and_(linear.temp, groupColumns - 1);
  a.add(linear.temp, 1);
  a.shr(linear.temp, 1);
  lanes.setBits(lane, laneNumbers());
  lanes.broadcastInteger(pairs, linear.temp);
  a.vpcmpgtd(Xbyak::Opmask(pairMask.index()), pairs.parts[0], lane.parts[0]);
}

void AmxBf16Product::skipUnlessPadded(const Xbyak::Label &done) {
  a.mov(linear.temp, linear.arg(offsetof(LinearArgs, columns)));
  a.and_(linear.temp, groupColumns - 1);
  a.jz(done);
}

/// Of each panel the lines behind those of whole groups, then zeros.
void AmxBf16Product::padWeights(unsigned side) {
  const VectorRegister values = lanes.takeRegister("line"), zero = lanes.takeRegister("zero");
  Xbyak::Label done;
  skipUnlessPadded(done);
  lanes.setZero(zero);
  a.mov(linear.cursor, wholeBytes());
  a.shl(linear.cursor, 4); // a line of 64 bytes for 4 of a row
  a.mov(size, stride);
  a.sub(size, linear.cursor);
  a.add(linear.cursor, linear.weights);
  for (unsigned panel = 0; panel < side; ++panel) {
    const int to = paddedAt + static_cast<int>(panel * tileBytes);
    for (unsigned each = 0; each < tileRows; ++each)
      a.vmovups(a.ptr[frame + to + static_cast<int>(each * lineBytes)], zero);
    Xbyak::Label top;
    a.lea(at, a.ptr[frame + to]);
    a.xor_(column, column);
    a.L(top);
    a.vmovups(values, a.ptr[linear.cursor + column]);
    a.vmovups(a.ptr[at + column], values);
    a.add(column, lineBytes);
    a.cmp(column, size);
    a.jl(top);
    a.add(linear.cursor, stride);
  }
  a.L(done);
}

void AmxBf16Product::rowGroups(unsigned side) {
  Xbyak::Label top, one, next;
  a.xor_(linear.row, linear.row);
  a.L(top);
  a.mov(size, linear.arg(offsetof(LinearArgs, rows)));
  a.sub(size, linear.row);
  a.cmp(size, tileRows);
  a.jle(one);
  a.mov(linear.temp, mostRows);
  a.cmp(size, linear.temp);
  a.cmovg(size, linear.temp);
  rowGroup({2, side});
  a.jmp(next);
  a.L(one);
  rowGroup({1, side});
  a.L(next);
  a.cmp(linear.row, linear.arg(offsetof(LinearArgs, rows)));
  a.jl(top);
}

/// Of `size` rows from `row` on; leaves `row` behind them.
void AmxBf16Product::rowGroup(Shape shape) {
  a.mov(rowsOfGroup(), size);
  configureRows(shape);
  products(shape);
  finish(shape);
}

/// Rows of tile 1, unless it has them already: ldtilecfg costs as much as a dozen products.
void AmxBf16Product::configureRows(Shape shape) {
  Xbyak::Label done;
  if (shape.tiles == 2)
    a.sub(size, tileRows);
  a.cmp(size, configuredRows());
  a.je(done);
  a.mov(configuredRows(), size);
  for (const Xbyak::Tmm &tile : {sumTile(1, 0), sumTile(1, 1), rowTile(1)})
    a.mov(a.byte[frame + configurationAt + static_cast<int>(TileConfiguration::rowsAt) +
                 tile.getIdx()],
          size.cvt8());
  a.ldtilecfg(a.ptr[frame + configurationAt]);
  a.L(done);
}

void AmxBf16Product::products(Shape shape) {
  for (unsigned tile = shape.firstTile(); tile < mostTiles; ++tile)
    for (unsigned panel = 0; panel < shape.side; ++panel)
      a.tilezero(sumTile(tile, panel));
  wholeColumns(shape);
  paddedColumns(shape);
  for (unsigned tile = shape.firstTile(); tile < mostTiles; ++tile)
    for (unsigned panel = 0; panel < shape.side; ++panel)
      a.tilestored(a.ptr[frame + line + totalsAt + static_cast<int>(panel) * panelTotalBytes +
                         static_cast<int>(tile * tileBytes)],
                   sumTile(tile, panel));
}

/// k counts bytes of a row.
void AmxBf16Product::wholeColumns(Shape shape) {
  Xbyak::Label top, done;
  a.mov(linear.cursor, linear.weights);
  a.xor_(linear.k, linear.k);
  a.L(top);
  a.mov(size, wholeBytes());
  a.sub(size, linear.k);
  a.jle(done);
  a.mov(linear.temp, chunkBytes);
  a.cmp(size, linear.temp);
  a.cmovg(size, linear.temp);
  forGatheredRows(shape, [&] { gatherChunk(); });
  a.add(linear.k, size);
  multiplyChunk(shape);
  a.jmp(top);
  a.L(done);
}

/// `size` bytes of a row.
void AmxBf16Product::gatherChunk() {
  const VectorRegister values = lanes.takeRegister("32 columns");
  Xbyak::Label top;
  a.xor_(column, column);
  a.L(top);
  a.vmovups(values, a.ptr[source + column]);
  a.vmovups(a.ptr[at + column], values);
  a.add(column, lineBytes);
  a.cmp(column, size);
  a.jl(top);
}

/// `size` bytes of each row; leaves the cursor behind the weights it used.
void AmxBf16Product::multiplyChunk(Shape shape) {
  Xbyak::Label top;
  a.lea(at, a.ptr[frame + inputsAt]);
  a.lea(column, a.ptr[at + size]);
  a.lea(linear.temp, a.ptr[linear.cursor + stride]);
  a.L(top);
  multiply(shape);
  a.add(at, lineBytes);
  a.add(linear.cursor, tileBytes);
  a.add(linear.temp, tileBytes);
  a.cmp(at, column);
  a.jl(top);
}

/// One group of 32, of which the last are zeros.
void AmxBf16Product::paddedColumns(Shape shape) {
  Xbyak::Label done;
  skipUnlessPadded(done);
  forGatheredRows(shape, [&] {
    const VectorRegister values = lanes.takeRegister("columns and zeros");
    const Xbyak::Zmm masked =
        Xbyak::Zmm(values.getIdx()) | Xbyak::Opmask(pairMask.index()) | Xbyak::util::T_z;
    a.vmovups(masked, a.ptr[source]);
    a.vmovups(a.ptr[at], values);
  });
  a.lea(at, a.ptr[frame + inputsAt]);
  a.lea(linear.cursor, a.ptr[frame + paddedAt]);
  a.lea(linear.temp, a.ptr[linear.cursor + tileBytes]);
  multiply(shape);
  a.L(done);
}

/// body() for every row of the group: from `source`, byte k of the row, to `at`.
template <typename Body> void AmxBf16Product::forGatheredRows(Shape shape, Body body) {
  Xbyak::Label top;
  a.mov(linear.temp, linear.arg(offsetof(LinearArgs, x)));
  a.lea(linear.temp, a.ptr[linear.temp + linear.row * 8]);
  a.mov(left, rowsOfGroup());
  a.lea(at, a.ptr[frame + inputsAt + static_cast<int>(shape.firstTile() * tileRows * chunkBytes)]);
  a.L(top);
  a.mov(source, a.ptr[linear.temp]);
  a.add(linear.temp, 8);
  a.add(source, linear.k);
  body();
  a.add(at, chunkBytes);
  a.sub(left, 1);
  a.jg(top);
}

/// 32 columns: rows at `at`, weights of the panels at `cursor` and `temp`.
void AmxBf16Product::multiply(Shape shape) {
  static_assert(chunkBytes == 8 * lineBytes); // the stride of rows
  for (unsigned tile = shape.firstTile(); tile < mostTiles; ++tile)
    a.tileloadd(rowTile(tile),
                a.ptr[at + line * 8 + static_cast<int>(tile * tileRows * chunkBytes)]);
  for (unsigned panel = 0; panel < shape.side; ++panel) {
    a.tileloadd(weightTile(panel), a.ptr[(panel == 0 ? linear.cursor : linear.temp) + line]);
    for (unsigned tile = shape.firstTile(); tile < mostTiles; ++tile)
      a.tdpbf16ps(sumTile(tile, panel), rowTile(tile), weightTile(panel));
  }
}

/// Every row of the group by itself: z, epilogue, y.
void AmxBf16Product::finish(Shape shape) {
  Xbyak::Label top;
  a.lea(at, a.ptr[frame + totalsAt + static_cast<int>(shape.firstTile() * tileBytes)]);
  a.mov(left, rowsOfGroup());
  a.L(top);
  {
    Tiles z;
    for (unsigned panel = 0; panel < shape.side; ++panel) {
      z.push_back(lanes.takeMany("total", 1));
      lanes.load(z[panel][0], at + static_cast<int>(panel) * panelTotalBytes);
    }
    finishAmxRow(epilogue, isPair(linear.spec), z);
  }
  a.add(at, lineBytes);
  a.add(linear.row, 1);
  a.sub(left, 1);
  a.jg(top);
}

} // namespace

void emitAmxBf16Product(LinearContext &context, Epilogue &epilogue) {
  context.x.clear();
  AmxBf16Product(context, epilogue).emit();
}

} // namespace inf
