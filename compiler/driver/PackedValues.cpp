#include "compiler/driver/PackedValues.h"

#include "compiler/driver/ModelFacts.h"

namespace inf {
PackedValues::PackedValues(const WeightSource &weightSource, ir::ModelOp model)
    : source(weightSource) {
  for (const WeightDecl &decl : weightDeclsOf(model))
    decls[decl.name] = decl;
}

void PackedValues::readRows(ir::WeightOp weight, int64_t expert, int64_t firstRow, int64_t count,
                            float *out) {
  const WeightDecl &decl = decls.at(weight.getSymName().str());
  const auto rows = uint64_t(count), first = uint64_t(firstRow), of = uint64_t(expert);
  if (weight.getFormat())
    readRowsAs(decl, static_cast<WeightFormat>(*weight.getFormat()), source, of, first, rows, out);
  else
    readRowsF32(decl, source, of, first, rows, out);
}

} // namespace inf
