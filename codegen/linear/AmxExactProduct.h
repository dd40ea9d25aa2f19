// Rows in q8 times mxfp4 weights on tiles of bf16, where every scale is a power of two.
#pragma once

#include "codegen/linear/AmxPanels.h"
#include "codegen/linear/AmxProduct.h"

namespace inf {

class AmxExactProduct : private TwoByTwoTiles {
public:
  /// `general` is for what is not exact.
  AmxExactProduct(AmxContext &amxContext, Epilogue &linearEpilogue, AmxProduct &general);

  /// Emits all panels and rows of the call.
  void emit();

private:
  /// What code is made for: tiles of rows, panels side by side, whether the next chunk is expanded
  /// on the way.
  struct Shape {
    unsigned tiles, side;
    bool expandNext;
  };

  void beginRowGroup();
  void setRowStride();
  void convertRows();
  void panels(unsigned side);
  void panelsAndRows(unsigned side);
  void expandFirstChunk(unsigned side);
  void chunk(unsigned side);
  void moveToOtherWeights(const Gpr &address);
  void expandBlock(unsigned side);
  void expandPanel(unsigned panel);
  void expandLine(unsigned panel, unsigned line, const VectorRegister &codes,
                  const VectorRegister &shift);
  void multiply(Shape shape);
  void multiplyBlock(Shape shape);
  void moveSumsAddress();
  void moveSums(Shape shape, bool store);
  void jumpUnlessExact(const Xbyak::Label &target);
  void moveGreatest(const Gpr &to, const Lanes16 &integers);
  void finish(unsigned side);
  void loadConfiguration();

  static constexpr unsigned lineBytes = AmxContext::lineBytes, tileBytes = AmxContext::tileBytes;
  static constexpr unsigned chunkBlocks = 4, chunkColumns = chunkBlocks * blockColumns;
  // The frame, in place of what AmxContext draws: sums of [2 panels][128 rows][64], then weights of
  // [2 chunks][2 panels][4 blocks][16][64].
  static constexpr int sumsAt = 0, panelSumBytes = amxtiles::exactGroupRows * lineBytes;
  static constexpr int weightsAt = 2 * panelSumBytes;
  static constexpr int panelWeightBytes = chunkBlocks * tileBytes;
  static constexpr int chunkBytes = 2 * panelWeightBytes;
  static_assert(weightsAt + 2 * chunkBytes < 40 * 1024);

  // Registers of AmxContext, under other roles.
  const Gpr &rowStride() const { return context.source; } ///< bytes of a converted row
  const Gpr &from() const { return context.offset; }      ///< what is read
  const Gpr &second() const { return context.blockAt; }   ///< Q8Blocks; the second tile of rows
  const Gpr &at() const { return context.totals; }        ///< what is written; weights in the frame
  const Gpr &end() const { return context.end; }          ///< of the chunk's weights in the frame

  Xbyak::Address rowsOfGroup() { return context.ownSlot(0); }
  Xbyak::Address lowest() { return context.ownSlot(1); }  ///< of the rows' scales; 0: not exact
  Xbyak::Address highest() { return context.ownSlot(2); } ///< likewise, exponent fields
  Xbyak::Address cursorLimit() { return context.ownSlot(3); }
  Xbyak::Address current() { return context.ownSlot(4); } ///< weights of the chunk, in the frame

  LinearContext &linear;
  Epilogue &epilogue;
  AmxContext &context;
  AmxProduct &general;
  KernelAssembler &a;
  LanesEmitter &lanes;
  const VectorRegister table, order, limit; ///< of values; of a line's bytes; 251
  const Lanes16 most, deficit; ///< of the panels' scales: the greatest, and of 251 - scale
};

} // namespace inf
