// Rows in q8 times weights in blocks on tiles of int8: every format, any scales.
#pragma once

#include "codegen/linear/AmxContext.h"
#include "codegen/linear/Epilogue.h"

namespace inf {

class AmxProduct {
public:
  AmxProduct(AmxContext &amxContext, Epilogue &linearEpilogue);

  /// Configures the tiles and emits all panels from context.weights and context.outOffset on, with
  /// the rows from rowsFrom() to rowsLimit(), which are set.
  void emit();

  /// For one or two panels alone, or a pair, with the tiles configured.
  void loadConfiguration();
  void rowGroups(unsigned side);

private:
  void panels(unsigned side);
  void beginGroup(unsigned side);
  void chunks(unsigned side);
  void chunk(unsigned side, unsigned blocks);
  void gather(unsigned blocks);
  void gatherRow(unsigned blocks);
  void multiply(unsigned side, unsigned blocks);
  void scale(unsigned side, unsigned blocks);
  void scaleRow(const Tile &totals, const Tiles &scales, unsigned block);
  void addMinimum(const Lanes16 &total, const Lanes16 &rowScale, unsigned panel, unsigned block);
  void finish(unsigned side);
  void finishRow(unsigned side);
  template <typename Body> void forRows(Body body);

  bool hasMinimums() const { return linear.spec.weights == WeightFormat::INT4A; }
  Xbyak::Address tileAt(const AmxContext::Address &part) {
    return a.ptr[context.frame + context.line + part];
  }
  AmxContext::Address rowOf(const AmxContext::Address &part) const {
    return context.frame + context.offset + part;
  }
  AmxContext::Address totalAt(unsigned panel) const {
    return context.totals + context.offset + AmxContext::totalsOf(panel);
  }

  LinearContext &linear;
  Epilogue &epilogue;
  AmxContext &context;
  KernelAssembler &a;
  LanesEmitter &lanes;
  const unsigned panelsOfUnit;
};

} // namespace inf
