#include "runtime/format/StoredBlocks.h"

#include <cstring>
#include <memory>

#include "runtime/base/Error.h"
#include "runtime/format/Blocks.h"
#include "runtime/format/NumberFormats.h"

namespace inf {
namespace {

/// Row `row` of the run, counted over all experts of its tensor.
uint64_t storedRow(const StoredRequest &request, const StoredRun &run, uint64_t row) {
  return placeOf(request, run).expert * run.part->rows + run.firstStored + row * run.stride;
}

/// MXFP4 that is kept in two tensors; codes and scales of a few rows are read at once.
void readTwoTensors(const StoredRequest &request, const StoredRun &run, uint64_t first,
                    uint64_t count, uint8_t *out) {
  const uint64_t blocks = count * (request.decl.columns / blockColumns);
  const uint64_t firstBlock =
      storedRow(request, run, first) * (request.decl.columns / blockColumns);
  auto codes = std::make_unique_for_overwrite<uint8_t[]>(blocks * 16);
  auto scales = std::make_unique_for_overwrite<uint8_t[]>(blocks);
  const StoredPlace place = placeOf(request, run);
  request.source.read(place.tensor, firstBlock * 16, {codes.get(), blocks * 16});
  request.source.read(place.scales, firstBlock, {scales.get(), blocks});
  for (uint64_t block = 0; block < blocks; ++block, out += 17) {
    out[0] = scales[block];
    splitNibbles(codes.get() + block * 16, out + 1);
  }
}

/// Fails for a block that is known to hold values that are not finite.
[[noreturn]] void refuseBlock(const StoredRequest &request, const StoredRun &run, uint64_t index,
                              const uint8_t *block) {
  const StoredPlace place = placeOf(request, run);
  const std::string &tensor = place.scales.empty() ? place.tensor : place.scales;
  if (run.part->stored != WeightFormat::MXFP4)
    fail(ErrorCode::BadInput,
         "weight '{}': tensor '{}' has a scale or minimum in {} at block index {} that is not "
         "finite; the checkpoint is damaged, download it again",
         request.decl.name, tensor, weightFormatName(run.part->stored), index);
  if (block[0] == e8m0Nan)
    fail(ErrorCode::BadInput,
         "weight '{}': tensor '{}' has scale byte 255 (NaN) at index {}, expected 0..254; the "
         "checkpoint is damaged, download it again",
         request.decl.name, tensor, index);
  fail(ErrorCode::BadInput,
       "weight '{}': tensor '{}' has scale byte {} at index {} with codes beyond the range of f32; "
       "the checkpoint is damaged, download it again",
       request.decl.name, tensor, block[0], index);
}

void requireFiniteBlocks(const StoredRequest &request, const StoredRun &run, uint64_t row,
                         const uint8_t *blocks) {
  const uint64_t perRow = request.decl.columns / blockColumns;
  const uint64_t bytes = blockBytes(run.part->stored);
  for (uint64_t block = 0; block < perRow; ++block)
    if (!isFiniteBlock(run.part->stored, blocks + block * bytes))
      refuseBlock(request, run, storedRow(request, run, row) * perRow + block,
                  blocks + block * bytes);
}

} // namespace

void readStoredBlocks(const StoredRequest &request, const StoredRun &run, uint8_t *out) {
  const uint64_t rowBytes = weightBytes(run.part->stored, request.decl.columns);
  const uint64_t rowsAtOnce = run.stride == 1 ? run.count : 1;
  for (uint64_t row = 0; row < run.count; row += rowsAtOnce) {
    if (run.part->scales.empty())
      request.source.read(placeOf(request, run).tensor, storedRow(request, run, row) * rowBytes,
                          {out + row * rowBytes, rowsAtOnce * rowBytes});
    else
      readTwoTensors(request, run, row, rowsAtOnce, out + row * rowBytes);
  }
  for (uint64_t row = 0; row < run.count; ++row)
    requireFiniteBlocks(request, run, row, out + row * rowBytes);
}

void decodeBlocks(WeightFormat format, const uint8_t *in, uint64_t blocks, float *out) {
  for (uint64_t block = 0; block < blocks; ++block)
    decodeBlock(format, in + block * blockBytes(format), out + block * blockColumns);
}

} // namespace inf
