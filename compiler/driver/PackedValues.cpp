#include "compiler/driver/PackedValues.h"

#include "compiler/driver/ModelFacts.h"
#include "runtime/format/NumberFormats.h"
#include "runtime/format/Quantize.h"

namespace inf {
namespace {

void roundTo(WeightFormat format, float *values, uint64_t count) {
  if (isBlockFormat(format))
    return quantizeDequantize(format, values, count);
  for (uint64_t i = 0; i < count; ++i) {
    if (format == WeightFormat::BF16)
      values[i] = bf16ToF32(f32ToBf16(values[i]));
    if (format == WeightFormat::F16)
      values[i] = f16ToF32(f32ToF16(values[i]));
  }
}

} // namespace

PackedValues::PackedValues(const WeightSource &weightSource, ir::ModelOp model)
    : source(weightSource) {
  for (const WeightDecl &decl : weightDeclsOf(model))
    decls[decl.name] = decl;
}

void PackedValues::readRows(ir::WeightOp weight, int64_t expert, int64_t firstRow, int64_t count,
                            float *out) {
  const WeightDecl &decl = decls.at(weight.getSymName().str());
  readRowsF32(decl, source, uint64_t(expert), uint64_t(firstRow), uint64_t(count), out);
  // What is stored in the packed format has been through it already.
  if (weight.getFormat() && weight.getFormat() != weight.storedFormat())
    roundTo(static_cast<WeightFormat>(*weight.getFormat()), out, uint64_t(count) * decl.columns);
}

} // namespace inf
