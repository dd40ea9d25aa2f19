// Rows in q8 times mxfp4 weights on tiles of bf16, where every scale is a power of two.
#pragma once

#include <vector>

#include "codegen/linear/AmxExactWeights.h"
#include "codegen/linear/AmxPanels.h"
#include "codegen/linear/AmxProduct.h"

namespace inf {

class AmxExactProduct {
public:
  /// `general` is for what is not exact.
  AmxExactProduct(AmxContext &amxContext, Epilogue &linearEpilogue, AmxProduct &general);

  /// Emits all panels, with the group's rows.
  void emitGroup();

private:
  using Address = LinearContext::Address;
  /// What code is made for: one to three tiles of rows, panels side by side.
  struct Shape {
    unsigned tiles, side;
  };
  /// One product of a step; the tile of rows and the panel (-1: none) whose operands are loaded as
  /// soon as it has read its own, of this block or the next.
  struct Product {
    unsigned tile, panel;
    int rowsToLoad, weightsToLoad;
    bool ofNext;
  };

  void loadConfiguration();
  void convertRows();
  void panels(unsigned side);
  void panelsAndRows(unsigned side);
  void jumpUnlessExact(unsigned side, const Xbyak::Label &target);
  void moveGreatest(const Gpr &to, const Lanes16 &integers);
  void moveRowsAddress(const Gpr &to);
  void multiply(Shape shape);
  void beginAsking(Shape shape);
  void askFor(const Address &block);
  void expandFirst(const AmxExactWeights &expanding, unsigned side);
  static std::vector<Product> productsOf(Shape shape);
  void loadRows(Shape shape, unsigned tile, bool ofNext);
  void loadWeights(Shape shape, unsigned panel);
  void pointAtWeights(bool ofNext);
  void step(Shape shape, const AmxExactWeights *expanding);
  void finish(unsigned side);

  static constexpr unsigned lineBytes = AmxContext::lineBytes, tileBytes = AmxContext::tileBytes;
  static constexpr unsigned stepRows = 2 * amxtiles::tileRows;
  static constexpr int stepRowBytes = 2 * tileBytes; ///< of a block
  // The frame: sums of [2 panels][48 rows][64], then weights of
  // [4 places][2 panels][16][64], a block each. Block b is in place b % 4.
  static constexpr int sumsAt = 0, panelSumBytes = 3 * tileBytes;
  static constexpr int weightsAt = 2 * panelSumBytes;
  static constexpr int places = 4, blocksAhead = 3, blockBytesInFrame = 2 * tileBytes;
  static_assert(weightsAt + places * blockBytesInFrame <= AmxContext::ownBytes);

  /// Of the block at the cursor, packed; and expanded.
  Address packedBlock(unsigned panel) const {
    return linear.cursor + context.stride * static_cast<int>(panel);
  }
  Address expandedBlock(unsigned panel) const {
    return expandedAt() + static_cast<int>(panel * tileBytes);
  }

  // Registers of AmxContext, under other roles.
  const Gpr &rowsAt() const { return context.work[0]; }     ///< in scratch
  const Gpr &asking() const { return context.work[1]; }     ///< for packed weights
  const Gpr &expandedAt() const { return context.work[2]; } ///< in the frame
  const Gpr &thirdAt() const { return context.work[3]; }    ///< rows of a third tile, in scratch
  const Gpr &place() const { return context.work[4]; }      ///< of the next block, times its bytes

  Xbyak::Address rowsOfGroup() { return context.exactSlot(0); }
  Xbyak::Address lowest() { return context.exactSlot(1); }  ///< of the rows' scales; 0: not exact
  Xbyak::Address highest() { return context.exactSlot(2); } ///< likewise, exponent fields
  Xbyak::Address cursorLimit() { return context.exactSlot(3); }
  Xbyak::Address stepEnd() { return context.exactSlot(4); } ///< rows of a step
  /// Whether the first blocks are, by the last steps of the rows before.
  Xbyak::Address areExpanded() { return context.exactSlot(5); }

  LinearContext &linear;
  Epilogue &epilogue;
  AmxContext &context;
  AmxProduct &general;
  KernelAssembler &a;
  LanesEmitter &lanes;
};

} // namespace inf
