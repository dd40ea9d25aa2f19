// From logical rows of a weight to where the checkpoint keeps them, and the reading of such rows.
// Used by packing and by WeightSource.cpp; not meant for other folders.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/format/WeightDecl.h"
#include "runtime/format/WeightSource.h"

namespace inf {

/// Rows that follow each other with a fixed stride in one part: stored rows firstStored,
/// firstStored + stride, ..., which are rows outRow, outRow + 1, ... of the request.
struct StoredRun {
  const WeightPart *part = nullptr;
  uint64_t firstStored = 0;
  uint64_t stride = 1; ///< 2 in interleaved parts
  uint64_t count = 0;
  uint64_t outRow = 0;
};

inline StoredRun rowOfRun(const StoredRun &run, uint64_t row) {
  return {run.part, run.firstStored + row * run.stride, 1, 1, 0};
}

/// Whose rows are read from where.
struct StoredRequest {
  const WeightDecl &decl;
  const WeightSource &source;
  uint64_t expert;
};

/// Names of the run's tensors and which of the experts in them is meant.
struct StoredPlace {
  std::string tensor, scales;
  uint64_t expert;
};
inline StoredPlace placeOf(const StoredRequest &request, const StoredRun &run) {
  const WeightPart &part = *run.part;
  if (!isPerExpert(part))
    return {part.tensor, part.scales, request.expert};
  return {atExpert(part.tensor, request.expert), atExpert(part.scales, request.expert), 0};
}

/// The runs that make up logical rows [firstRow, firstRow + count). Fails with BadInput when the
/// declaration is malformed or `expert` or the rows lie outside of it.
std::vector<StoredRun> storedRuns(const WeightDecl &decl, uint64_t expert, uint64_t firstRow,
                                  uint64_t count);

/// Logical rows in a dense format (F32, F16, BF16), row-major [count][columns], little-endian,
/// written to `out`. Rows stored in that format are moved, others converted (round to nearest
/// even). A value that is not finite, or not any more after conversion, fails with BadInput naming
/// the weight, the tensor and the element's index in it.
void readRowsDense(const WeightDecl &decl, WeightFormat format, const WeightSource &source,
                   uint64_t expert, uint64_t firstRow, uint64_t count, uint8_t *out);

/// Logical rows as blocks (runtime/format/Blocks.h), [count][columns/32]. Rows stored in that
/// format are moved, others read as f32 and quantized; MXFP4 from anything else, a value that is
/// not finite or a scale beyond f16 fails with BadInput naming the weight, the tensor and the
/// index. columns % 32 == 0.
void readRowsBlocks(const WeightDecl &decl, WeightFormat format, const WeightSource &source,
                    uint64_t expert, uint64_t firstRow, uint64_t count, uint8_t *out);

} // namespace inf
