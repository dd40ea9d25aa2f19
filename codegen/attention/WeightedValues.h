// acc of a step's tiles: acc * alpha + V, p in keys (codegen/KernelArgs.h, AttentionArgs, step 1).
#pragma once

#include <optional>

#include "codegen/attention/AttentionContext.h"
#include "codegen/attention/OuterProduct.h"

namespace inf {

class WeightedValues {
public:
  explicit WeightedValues(AttentionContext &attentionContext)
      : context(attentionContext), a(attentionContext.a), lanes(*attentionContext.lanes) {}

  /// Of a whole step. The first heads' pass fetches the next block's values.
  void whole(HeadRange range);
  /// Of the keys of one tile from the frame's first lane to its last.
  void partial(HeadRange range);

private:
  using Address = AttentionContext::Address;
  static constexpr unsigned floatBytes = AttentionContext::floatBytes;
  static constexpr unsigned lineBytes = AttentionContext::lineBytes;
  static constexpr unsigned tileKeys = AttentionContext::tileKeys;

  /// Lines of sixteen dimensions of a value; the last may be the half one.
  struct Lines {
    unsigned count;
    bool halfLast = false;
    bool isHalf(unsigned line) const { return halfLast && line + 1 == count; }
  };

  template <typename Body> void forEachPass(Body body);
  void accumulate(HeadRange range, Lines lines, const Gpr &d, const auto &body);
  void scaleByAlpha(HeadRange range, const HeadSums &acc, const Address &alphaLine);
  void addValue(const OuterProduct &product, HeadRange range, const HeadSums &acc, Lines lines,
                const Address &value, const Address &p, std::optional<Address> mask);

  AttentionContext &context;
  KernelAssembler &a;
  LanesEmitter &lanes;
};

} // namespace inf
