// z = W x for one tile of rows and one group of panels: what differs between kinds of weights and
// inputs.
#pragma once

#include <memory>

#include "codegen/linear/LinearContext.h"

namespace inf {

class Reduction {
public:
  virtual ~Reduction() = default;

  /// Before the first group of panels, and before the tiles of each, when the general registers but
  /// weights, output offset and strides are free.
  virtual void beginGroups() {}
  virtual void beginGroup(unsigned /*panels*/) {}

  /// Sums over all columns for `rows` rows from context.row on, `panels` panels from context.cursor
  /// on, which ends behind the first of them.
  virtual Tiles reduce(unsigned rows, unsigned panels) = 0;
};

std::unique_ptr<Reduction> createDenseReduction(LinearContext &context);
std::unique_ptr<Reduction> createFloatBlockReduction(LinearContext &context);
std::unique_ptr<Reduction> createBf16Reduction(LinearContext &context);
std::unique_ptr<Reduction> createBf16GroupReduction(LinearContext &context);
std::unique_ptr<Reduction> createIntegerReduction(LinearContext &context);

} // namespace inf
