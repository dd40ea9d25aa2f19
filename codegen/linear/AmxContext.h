// The registers, the tiles and the frame of a linear kernel's path on AMX tiles (AmxProduct.cpp).
//
// The frame holds a chunk of K (8 blocks of 32 columns) for 2 panels and 64 rows, so that what a
// chunk touches stays in the 48 KiB first level cache of the CPUs that have AMX:
//
//            bytes             of
//   inputs    4 KiB  [4][16 rows][64]          codes of the tile's rows, two blocks side by side
//   blocks    1 KiB  [16 rows][64]             their Q8Blocks
//   sums      1 KiB  [16 rows][64]             int4a: float(-(sum of q)) in every second lane
//   products 16 KiB  [8][2 panels][16][64]     int32, one tile a block and panel
//   totals    8 KiB  [2 panels][64 rows][64]   f32, through all chunks
//   weights  10 KiB  [2 panels][8][10][64]     signed bytes (8 lines), scales and minimums as f32
//
// 40 KiB; the packed weights and the rows stream through what is left and the second level.
#pragma once

#include "codegen/linear/LinearContext.h"

namespace inf {

class AmxContext {
public:
  using Address = LinearContext::Address;

  explicit AmxContext(LinearContext &linearContext) : linear(linearContext), a(linear.a) {}

  LinearContext &linear;
  KernelAssembler &a;

  Gpr frame = a.takeGeneral("frame, aligned to 64");
  Gpr line = a.takeGeneral("64: bytes between rows of any tile");
  Gpr stride = a.takeGeneral("bytes of a packed panel");
  Gpr source = a.takeGeneral("packed weights or a row of x");
  Gpr offset = a.takeGeneral("64 a row, or an expanded block");
  Gpr end = a.takeGeneral("of offset");
  Gpr blockAt = a.takeGeneral("Q8Blocks of the chunk in a row");
  Gpr totals = a.takeGeneral("totals of the tile's first row");

  // Parts of the frame. In arrays of rows, a row is at `offset`.
  static Address inputs(unsigned block) {
    return Address(inputsAt + static_cast<int>(block / 2 * tileBytes + block % 2 * blockColumns));
  }
  static Address rowBlocks(unsigned block) {
    return Address(rowBlocksAt + static_cast<int>(block * sizeof(Q8Block)));
  }
  /// The lane that was the sum in the Q8Block.
  static Address negativeSums(unsigned block) {
    return Address(sumsAt + static_cast<int>(block * sizeof(Q8Block)) +
                   static_cast<int>(offsetof(Q8Block, minus16Sum)));
  }
  static Address products(unsigned block, unsigned panel) {
    return Address(productsAt + static_cast<int>((block * mostPanels + panel) * tileBytes));
  }
  /// Counted from `totals`, which moves with the tile.
  static Address totalsOf(unsigned panel) {
    return Address(totalsAt + static_cast<int>(panel * amxtiles::groupRows * lineBytes));
  }
  static Address expanded(unsigned panel, unsigned block, unsigned expandedLine) {
    return Address(weightsAt + static_cast<int>((panel * mostBlocks + block) * expandedBytes +
                                                expandedLine * lineBytes));
  }
  Xbyak::Address firstRow() { return slot(0); } ///< of the group of 64
  Xbyak::Address rowsEnd() { return slot(1); }
  Xbyak::Address rowsFrom() { return slot(2); } ///< of the call's rows, those to be multiplied
  Xbyak::Address rowsLimit() { return slot(3); }
  /// One of those a product on tiles has for itself.
  Xbyak::Address ownSlot(unsigned number) { return slot(4 + number); }
  static constexpr unsigned ownSlots = 4;

  /// frame, line and stride.
  void enter() {
    const auto blockBytes = weightBytes(linear.spec.weights, panelRows * blockColumns);
    a.lea(frame, a.ptr[a.rsp + (lineBytes - 1)]);
    a.and_(frame, -static_cast<int>(lineBytes));
    a.mov(line, lineBytes);
    a.mov(stride, linear.arg(offsetof(LinearArgs, columns)));
    a.shr(stride, 5); // / blockColumns
    a.imul(stride, stride, static_cast<int>(blockBytes));
  }

  static constexpr unsigned mostPanels = 2, mostBlocks = 8;
  static constexpr unsigned lineBytes = 64, tileBytes = amxtiles::tileRows * lineBytes;
  /// Lines of an expanded block: 8 of codes, then these.
  static constexpr unsigned scalesLine = 8, minimumsLine = 9, expandedBytes = 10 * lineBytes;

  // Tiles: sums of a block and panel (two sets, so that four products are on their way), rows,
  // weights of a panel.
  static Xbyak::Tmm sumTile(unsigned block, unsigned panel) {
    return Xbyak::Tmm(static_cast<int>(block % 2 * 2 + panel));
  }
  static Xbyak::Tmm rowTile(unsigned block) { return Xbyak::Tmm(static_cast<int>(4 + block % 2)); }
  static Xbyak::Tmm weightTile(unsigned panel) { return Xbyak::Tmm(static_cast<int>(6 + panel)); }

private:
  Xbyak::Address slot(unsigned number) {
    return a.qword[frame + slotsAt + static_cast<int>(8 * number)];
  }
  static constexpr int inputsAt = 0;
  static constexpr int rowBlocksAt = inputsAt + mostBlocks / 2 * tileBytes;
  static constexpr int sumsAt = rowBlocksAt + tileBytes;
  static constexpr int productsAt = sumsAt + tileBytes;
  static constexpr int totalsAt = productsAt + mostBlocks * mostPanels * tileBytes;
  static constexpr int weightsAt = totalsAt + mostPanels * amxtiles::groupRows * lineBytes;
  static constexpr int slotsAt = weightsAt + mostPanels * mostBlocks * expandedBytes;
  static_assert(slotsAt + (4 + ownSlots) * 8 + lineBytes <= amxtiles::frameBytes);
};

} // namespace inf
