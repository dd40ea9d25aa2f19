// Weights as a compiled model holds them, for the reference interpreter.
#pragma once

#include <map>
#include <string>

#include "ir/reference/Interpreter.h"
#include "runtime/format/WeightSource.h"

namespace inf {

/// Reads through a WeightSource and lets the values go through the format each weight is packed to.
class PackedValues : public ir::WeightReader {
public:
  /// `source` must outlive this.
  PackedValues(const WeightSource &source, ir::ModelOp model);

  void readRows(ir::WeightOp weight, int64_t expert, int64_t firstRow, int64_t count,
                float *out) override;

private:
  const WeightSource &source;
  std::map<std::string, WeightDecl> decls;
};

} // namespace inf
