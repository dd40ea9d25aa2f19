#include "runtime/format/StoredRows.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "runtime/base/Error.h"
#include "runtime/format/Blocks.h"
#include "runtime/format/NumberFormats.h"
#include "runtime/format/Quantize.h"
#include "runtime/format/StoredBlocks.h"

namespace inf {
namespace {

template <typename T> T load(const uint8_t *from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}

template <typename T> void store(uint8_t *to, T value) { std::memcpy(to, &value, sizeof(T)); }

std::unique_ptr<uint8_t[]> scratch(uint64_t bytes) {
  return std::make_unique_for_overwrite<uint8_t[]>(bytes);
}

/// Adds the runs of part rows [first, first + count).
void addPartRuns(const WeightPart &part, uint64_t first, uint64_t count, uint64_t outRow,
                 std::vector<StoredRun> &runs) {
  if (!part.interleaved) {
    runs.push_back({&part, first, 1, count, outRow});
    return;
  }
  const uint64_t half = part.rows / 2;
  if (first < half) {
    const uint64_t gates = std::min(count, half - first);
    runs.push_back({&part, 2 * first, 2, gates, outRow});
    first += gates, count -= gates, outRow += gates;
  }
  if (count > 0)
    runs.push_back({&part, 2 * (first - half) + 1, 2, count, outRow});
}

/// Index of the first value that is an infinity or a NaN, or `count`. The first loop has no early
/// exit so that it is vectorized: nearly every weight is finite.
template <typename T>
uint64_t firstNonFinite(const uint8_t *values, uint64_t count, T magnitudeMask, T infinity) {
  T bad = 0;
  for (uint64_t i = 0; i < count; ++i)
    bad |= T((load<T>(values + i * sizeof(T)) & magnitudeMask) >= infinity);
  if (!bad)
    return count;
  uint64_t index = 0;
  while ((load<T>(values + index * sizeof(T)) & magnitudeMask) < infinity)
    ++index;
  return index;
}

uint64_t firstNonFinite(WeightFormat format, const uint8_t *values, uint64_t count) {
  switch (format) {
  case WeightFormat::F32:
    return firstNonFinite<int32_t>(values, count, 0x7fffffff, 0x7f800000);
  case WeightFormat::F16:
    return firstNonFinite<int16_t>(values, count, 0x7fff, 0x7c00);
  default:
    return firstNonFinite<int16_t>(values, count, 0x7fff, 0x7f80);
  }
}

float loadValue(WeightFormat format, const uint8_t *values, uint64_t index) {
  switch (format) {
  case WeightFormat::F32:
    return load<float>(values + 4 * index);
  case WeightFormat::F16:
    return f16ToF32(load<uint16_t>(values + 2 * index));
  default:
    return bf16ToF32(load<uint16_t>(values + 2 * index));
  }
}

/// Index in the whole tensor of column `column` of row `row` of the run.
uint64_t tensorIndex(const StoredRequest &request, const StoredRun &run, uint64_t row,
                     uint64_t column) {
  const uint64_t stored = run.firstStored + row * run.stride;
  const uint64_t columns = request.decl.columns, rows = run.part->rows;
  const uint64_t expert = isPerExpert(*run.part) ? 0 : request.expert;
  if (run.part->transposed)
    return (expert * columns + column) * rows + stored;
  return (expert * rows + stored) * columns + column;
}

/// Rows of a dense part in its stored format, row-major [run.count][columns].
void readStored(const StoredRequest &request, const StoredRun &run, uint8_t *out) {
  const uint64_t columns = request.decl.columns;
  const uint64_t size = run.part->stored == WeightFormat::F32 ? 4 : 2;
  const std::string tensor = placeOf(request, run).tensor;
  if (run.part->transposed) {
    // One short strip per column: the rows wanted, never the tensor.
    const uint64_t span = (run.count - 1) * run.stride + 1;
    auto strip = scratch(span * size);
    for (uint64_t column = 0; column < columns; ++column) {
      request.source.read(tensor, tensorIndex(request, run, 0, column) * size,
                          {strip.get(), span * size});
      for (uint64_t row = 0; row < run.count; ++row)
        std::memcpy(out + (row * columns + column) * size, strip.get() + row * run.stride * size,
                    size);
    }
    return;
  }
  const uint64_t rowsAtOnce = run.stride == 1 ? run.count : 1;
  for (uint64_t row = 0; row < run.count; row += rowsAtOnce)
    request.source.read(tensor, tensorIndex(request, run, row, 0) * size,
                        {out + row * columns * size, rowsAtOnce * columns * size});
}

void requireFinite(const StoredRequest &request, const StoredRun &run, WeightFormat format,
                   const uint8_t *values) {
  const uint64_t columns = request.decl.columns;
  const uint64_t index = firstNonFinite(format, values, run.count * columns);
  if (index == run.count * columns)
    return;
  const bool converted = format != run.part->stored;
  fail(ErrorCode::BadInput,
       "weight '{}': tensor '{}' has {} at index {}{}, expected finite values only; {}",
       request.decl.name, placeOf(request, run).tensor, loadValue(format, values, index),
       tensorIndex(request, run, index / columns, index % columns),
       converted ? fmt::format(" after conversion to {}", weightFormatName(format)) : "",
       converted ? "choose a wider format" : "the checkpoint is damaged, download it again");
}

void convertValues(WeightFormat from, const uint8_t *values, uint64_t count, WeightFormat to,
                   uint8_t *out) {
  for (uint64_t i = 0; i < count; ++i) {
    const float value = loadValue(from, values, i);
    if (to == WeightFormat::F32)
      store(out + 4 * i, value);
    else
      store(out + 2 * i, to == WeightFormat::F16 ? f32ToF16(value) : f32ToBf16(value));
  }
}

void readDenseRun(const StoredRequest &request, const StoredRun &run, WeightFormat format,
                  uint8_t *out) {
  if (run.part->stored == format) {
    readStored(request, run, out);
    requireFinite(request, run, format, out);
    return;
  }
  const uint64_t elements = run.count * request.decl.columns;
  auto stored = scratch(weightBytes(run.part->stored, elements));
  readStored(request, run, stored.get());
  requireFinite(request, run, run.part->stored, stored.get());
  convertValues(run.part->stored, stored.get(), elements, format, out);
  requireFinite(request, run, format, out);
}

/// One row of a part stored in a block format.
void readBlockRowAsDense(const StoredRequest &request, const StoredRun &row, WeightFormat format,
                         uint8_t *out) {
  const uint64_t columns = request.decl.columns;
  auto blocks = scratch(weightBytes(row.part->stored, columns)), values = scratch(columns * 4);
  readStoredBlocks(request, row, blocks.get());
  decodeBlocks(row.part->stored, blocks.get(), columns / blockColumns,
               reinterpret_cast<float *>(values.get()));
  convertValues(WeightFormat::F32, values.get(), columns, format, out);
  requireFinite(request, row, format, out);
}

void readRunAsDense(const StoredRequest &request, const StoredRun &run, WeightFormat format,
                    uint8_t *out) {
  if (!isBlockFormat(run.part->stored))
    return readDenseRun(request, run, format, out);
  for (uint64_t row = 0; row < run.count; ++row)
    readBlockRowAsDense(request, rowOfRun(run, row), format,
                        out + row * weightBytes(format, request.decl.columns));
}

/// One row of any part, quantized.
void quantizeRow(const StoredRequest &request, const StoredRun &row, WeightFormat format,
                 uint8_t *out) {
  const uint64_t columns = request.decl.columns, blocks = columns / blockColumns;
  auto values = scratch(columns * 4);
  readRunAsDense(request, row, WeightFormat::F32, values.get());
  const uint64_t done =
      quantizeBlocks(format, reinterpret_cast<const float *>(values.get()), blocks, out);
  if (done < blocks)
    fail(ErrorCode::BadInput,
         "weight '{}': tensor '{}' needs a scale beyond f16 for the {} values from index {} on in "
         "{}; choose a wider format",
         request.decl.name, placeOf(request, row).tensor, blockColumns,
         tensorIndex(request, row, 0, done * blockColumns), weightFormatName(format));
}

void readRunAsBlocks(const StoredRequest &request, const StoredRun &run, WeightFormat format,
                     uint8_t *out) {
  if (run.part->stored == format)
    return readStoredBlocks(request, run, out);
  if (!isQuantizable(format))
    fail(ErrorCode::BadInput,
         "weight '{}': tensor '{}' is stored as {}, expected {}; pack it in another format",
         request.decl.name, run.part->tensor, weightFormatName(run.part->stored),
         weightFormatName(format));
  for (uint64_t row = 0; row < run.count; ++row)
    quantizeRow(request, rowOfRun(run, row), format,
                out + row * weightBytes(format, request.decl.columns));
}

} // namespace

std::vector<StoredRun> storedRuns(const WeightDecl &decl, uint64_t expert, uint64_t firstRow,
                                  uint64_t count) {
  if (auto reason = whyMalformed(decl))
    fail(ErrorCode::BadInput, "weight '{}': {}; correct the model's description", decl.name,
         *reason);
  if (expert >= decl.experts || firstRow > decl.rows || count > decl.rows - firstRow)
    fail(ErrorCode::BadInput,
         "weight '{}': rows {} + {} of expert {} asked for, expected less than {} rows and {} "
         "experts; ask for rows the weight has",
         decl.name, firstRow, count, expert, decl.rows, decl.experts);
  std::vector<StoredRun> runs;
  uint64_t partStart = 0;
  const uint64_t end = firstRow + count;
  for (const WeightPart &part : decl.parts) {
    const uint64_t first = std::max(firstRow, partStart);
    const uint64_t last = std::min(end, partStart + part.rows);
    if (first < last)
      addPartRuns(part, first - partStart, last - first, first - firstRow, runs);
    partStart += part.rows;
  }
  return runs;
}

void readRowsDense(const WeightDecl &decl, WeightFormat format, const WeightSource &source,
                   uint64_t expert, uint64_t firstRow, uint64_t count, uint8_t *out) {
  if (isBlockFormat(format))
    fail(ErrorCode::Internal, "weight '{}': rows asked for in {}, expected a dense format",
         decl.name, weightFormatName(format));
  const StoredRequest request = {decl, source, expert};
  for (const StoredRun &run : storedRuns(decl, expert, firstRow, count))
    readRunAsDense(request, run, format, out + run.outRow * weightBytes(format, decl.columns));
}

void readRowsBlocks(const WeightDecl &decl, WeightFormat format, const WeightSource &source,
                    uint64_t expert, uint64_t firstRow, uint64_t count, uint8_t *out) {
  if (!isBlockFormat(format) || decl.columns % blockColumns != 0)
    fail(ErrorCode::Internal, "weight '{}': {} columns asked for in {}, expected whole blocks",
         decl.name, decl.columns, weightFormatName(format));
  const StoredRequest request = {decl, source, expert};
  for (const StoredRun &run : storedRuns(decl, expert, firstRow, count))
    readRunAsBlocks(request, run, format, out + run.outRow * weightBytes(format, decl.columns));
}

void readRowsF32(const WeightDecl &decl, const WeightSource &source, uint64_t expert,
                 uint64_t firstRow, uint64_t count, float *out) {
  readRowsDense(decl, WeightFormat::F32, source, expert, firstRow, count,
                reinterpret_cast<uint8_t *>(out));
}

void readRowsAs(const WeightDecl &decl, WeightFormat format, const WeightSource &source,
                uint64_t expert, uint64_t firstRow, uint64_t count, float *out) {
  if (!isBlockFormat(format)) {
    auto rows = scratch(weightBytes(format, count * decl.columns));
    readRowsDense(decl, format, source, expert, firstRow, count, rows.get());
    return convertValues(format, rows.get(), count * decl.columns, WeightFormat::F32,
                         reinterpret_cast<uint8_t *>(out));
  }
  auto blocks = scratch(weightBytes(format, count * decl.columns));
  readRowsBlocks(decl, format, source, expert, firstRow, count, blocks.get());
  decodeBlocks(format, blocks.get(), count * decl.columns / blockColumns, out);
}

} // namespace inf
