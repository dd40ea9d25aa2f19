// z of a step's tiles: keys times q, scaled (codegen/KernelArgs.h, AttentionArgs, step 1).
#pragma once

#include "codegen/attention/AttentionContext.h"

namespace inf {

class Scores {
public:
  explicit Scores(AttentionContext &attentionContext)
      : context(attentionContext), a(attentionContext.a), lanes(*attentionContext.lanes) {}

  /// z[h][16 keys] of each tile into the frame. The first heads' pass fetches the next block's
  /// keys.
  void emit(HeadRange range, unsigned tiles);

private:
  using Address = AttentionContext::Address;
  static constexpr unsigned lineBytes = AttentionContext::lineBytes;
  static constexpr unsigned tileKeys = AttentionContext::tileKeys;
  static constexpr unsigned scoreStep = 8; ///< dimensions in a turn of the loop over them

  void fetchKeys(const Gpr &cursor, const Gpr &toNext, unsigned tiles);

  AttentionContext &context;
  KernelAssembler &a;
  LanesEmitter &lanes;
};

} // namespace inf
