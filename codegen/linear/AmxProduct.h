// Rows in q8 times weights in blocks on tiles of int8: every format, any scales.
#pragma once

#include "codegen/linear/AmxContext.h"
#include "codegen/linear/AmxWeights.h"
#include "codegen/linear/Epilogue.h"

namespace inf {

class AmxProduct {
public:
  AmxProduct(AmxContext &amxContext, Epilogue &linearEpilogue);

  /// Emits all panels, with the group's rows.
  void emitGroup();

  /// For a product that leaves panels to this one: beginGroup() first, then emitPanels() for all of
  /// them, or loadConfiguration() and panelsAndRows() for some.
  void beginGroup();
  void emitPanels();
  void loadConfiguration();
  void panelsAndRows(unsigned side); ///< one or two panels alone, or a pair

private:
  void layOutRows();
  void layOutRow(bool there);
  void panels(unsigned side);
  void expand(unsigned side);
  void reduce(unsigned panel);
  void askForNext();
  void multiply(unsigned half);
  void scale(const Tile &totals, const VectorRegister &magic, unsigned half);
  void finish(unsigned side);

  bool hasMinimums() const { return linear.spec.weights == WeightFormat::INT4A; }

  static constexpr int pairBytes = 2 * amxblock::bytes; ///< of two blocks, panel or tile of rows
  // A pair of blocks of a tile of rows in scratch: codes of [16 rows][2 blocks][32], then of
  // [2 blocks][16 rows], f32: scales, -(sum of q).
  static constexpr int rowScalesAt = 1024, rowSumsAt = rowScalesAt + 128;
  static_assert(rowSumsAt + 128 == pairBytes);
  // The frame: products of [2 blocks][16 rows][64], int32; totals of [2 panels][16 rows][64], f32.
  static constexpr int productsAt = 0;
  static constexpr int totalsAt = 2 * static_cast<int>(AmxContext::tileBytes);

  // Registers, by role. Pointers into scratch; packed weights.
  const Gpr &rowsAt() const { return context.work[0]; }
  const Gpr &weightsAt() const { return context.work[1]; }
  const Gpr &asking() const { return context.work[4]; }

  Xbyak::Address laidOut() { return context.generalSlot(0); }
  Xbyak::Address expandedAt() { return context.generalSlot(1); } ///< in scratch; rows lie behind
  Xbyak::Address panelBytes() { return context.generalSlot(2); } ///< expanded; of a tile of rows
  Xbyak::Address tileAt() { return context.generalSlot(3); }     ///< rows, in scratch
  Xbyak::Address askedBytes() { return context.generalSlot(4); } ///< for each pair of blocks
  Xbyak::Address askingEnd() { return context.generalSlot(5); }

  LinearContext &linear;
  Epilogue &epilogue;
  AmxContext &context;
  KernelAssembler &a;
  LanesEmitter &lanes;
};

} // namespace inf
