#include "runtime/format/StoredRows.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "runtime/base/Error.h"
#include "runtime/format/NumberFormats.h"

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

struct Request {
  const WeightDecl &decl;
  const WeightSource &source;
  uint64_t expert;
};

/// Index in the whole tensor of column `column` of row `row` of the run.
uint64_t tensorIndex(const Request &request, const StoredRun &run, uint64_t row, uint64_t column) {
  const uint64_t stored = run.firstStored + row * run.stride;
  const uint64_t columns = request.decl.columns, rows = run.part->rows;
  if (run.part->transposed)
    return (request.expert * columns + column) * rows + stored;
  return (request.expert * rows + stored) * columns + column;
}

/// Rows of a dense part in its stored format, row-major [run.count][columns].
void readStored(const Request &request, const StoredRun &run, uint8_t *out) {
  const uint64_t columns = request.decl.columns;
  const uint64_t size = run.part->stored == WeightFormat::F32 ? 4 : 2;
  const std::string &tensor = run.part->tensor;
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

void requireFinite(const Request &request, const StoredRun &run, WeightFormat format,
                   const uint8_t *values) {
  const uint64_t columns = request.decl.columns;
  const uint64_t index = firstNonFinite(format, values, run.count * columns);
  if (index == run.count * columns)
    return;
  const bool converted = format != run.part->stored;
  fail(ErrorCode::BadInput,
       "weight '{}': tensor '{}' has {} at index {}{}, expected finite values only; {}",
       request.decl.name, run.part->tensor, loadValue(format, values, index),
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

void readDenseRun(const Request &request, const StoredRun &run, WeightFormat format, uint8_t *out) {
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

void readMxfp4RowAsDense(const Request &request, const StoredRun &run, uint64_t row,
                         WeightFormat format, const uint8_t *codes, const uint8_t *scales,
                         uint8_t *out) {
  const uint64_t columns = request.decl.columns;
  auto values = scratch(columns * 4);
  for (uint64_t column = 0; column < columns; ++column) {
    const uint8_t code = uint8_t(codes[column / 2] >> (column % 2 * 4));
    store(values.get() + column * 4, mxfp4ToF32(code, scales[column / mxfp4Block]));
  }
  convertValues(WeightFormat::F32, values.get(), columns, format, out);
  const StoredRun single = {run.part, run.firstStored + row * run.stride, 1, 1, 0};
  requireFinite(request, single, format, out);
}

/// Fails for NaN scales, and for blocks of the two largest scales whose values overflow binary32.
void requireFiniteBlocks(const Request &request, const StoredRun &run, uint64_t row,
                         const uint8_t *codes, const uint8_t *scales) {
  const uint64_t blocks = request.decl.columns / mxfp4Block;
  // 6 * 2^(252 - 127) is finite: only larger scales need a look.
  if (std::none_of(scales, scales + blocks, [](uint8_t scale) { return scale > 252; }))
    return;
  const uint64_t stored = run.firstStored + row * run.stride;
  const uint64_t first = (request.expert * run.part->rows + stored) * blocks;
  for (uint64_t block = 0; block < blocks; ++block) {
    if (scales[block] == e8m0Nan)
      fail(ErrorCode::BadInput,
           "weight '{}': tensor '{}' has scale byte 255 (NaN) at index {}, expected 0..254; the "
           "checkpoint is damaged, download it again",
           request.decl.name, run.part->scales, first + block);
    for (uint64_t i = 0; i < mxfp4Block && scales[block] > 252; ++i) {
      const uint8_t code = uint8_t(codes[block * 16 + i / 2] >> (i % 2 * 4));
      if ((std::bit_cast<uint32_t>(mxfp4ToF32(code, scales[block])) & 0x7fffffffu) == 0x7f800000u)
        fail(ErrorCode::BadInput,
             "weight '{}': tensor '{}' has scale byte {} at index {} with code {}, beyond the "
             "range of f32; the checkpoint is damaged, download it again",
             request.decl.name, run.part->scales, scales[block], first + block, code & 15);
    }
  }
}

void readMxfp4Run(const Request &request, const StoredRun &run, uint8_t *codes, uint8_t *scales) {
  const uint64_t codeBytes = request.decl.columns / 2;
  const uint64_t scaleBytes = request.decl.columns / mxfp4Block;
  const uint64_t rowsAtOnce = run.stride == 1 ? run.count : 1;
  for (uint64_t row = 0; row < run.count; row += rowsAtOnce) {
    const uint64_t stored = request.expert * run.part->rows + run.firstStored + row * run.stride;
    request.source.read(run.part->tensor, stored * codeBytes,
                        {codes + row * codeBytes, rowsAtOnce * codeBytes});
    request.source.read(run.part->scales, stored * scaleBytes,
                        {scales + row * scaleBytes, rowsAtOnce * scaleBytes});
  }
  for (uint64_t row = 0; row < run.count; ++row)
    requireFiniteBlocks(request, run, row, codes + row * codeBytes, scales + row * scaleBytes);
}

void readMxfp4RunAsDense(const Request &request, const StoredRun &run, WeightFormat format,
                         uint8_t *out) {
  const uint64_t codeBytes = request.decl.columns / 2;
  const uint64_t scaleBytes = request.decl.columns / mxfp4Block;
  auto codes = scratch(codeBytes), scales = scratch(scaleBytes);
  for (uint64_t row = 0; row < run.count; ++row) {
    const StoredRun single = {run.part, run.firstStored + row * run.stride, 1, 1, 0};
    readMxfp4Run(request, single, codes.get(), scales.get());
    readMxfp4RowAsDense(request, run, row, format, codes.get(), scales.get(),
                        out + row * weightBytes(format, request.decl.columns));
  }
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
  if (format == WeightFormat::MXFP4)
    fail(ErrorCode::Internal, "weight '{}': rows asked for in mxfp4, expected a dense format",
         decl.name);
  const Request request = {decl, source, expert};
  for (const StoredRun &run : storedRuns(decl, expert, firstRow, count)) {
    uint8_t *rows = out + run.outRow * weightBytes(format, decl.columns);
    if (run.part->stored == WeightFormat::MXFP4)
      readMxfp4RunAsDense(request, run, format, rows);
    else
      readDenseRun(request, run, format, rows);
  }
}

void readRowsF32(const WeightDecl &decl, const WeightSource &source, uint64_t expert,
                 uint64_t firstRow, uint64_t count, float *out) {
  readRowsDense(decl, WeightFormat::F32, source, expert, firstRow, count,
                reinterpret_cast<uint8_t *>(out));
}

void readRowsMxfp4(const WeightDecl &decl, const WeightSource &source, uint64_t expert,
                   uint64_t firstRow, uint64_t count, uint8_t *codes, uint8_t *scales) {
  const Request request = {decl, source, expert};
  for (const StoredRun &run : storedRuns(decl, expert, firstRow, count)) {
    if (run.part->stored != WeightFormat::MXFP4)
      fail(ErrorCode::BadInput,
           "weight '{}': tensor '{}' is stored as {}, expected mxfp4; pack it in its own format",
           decl.name, run.part->tensor, weightFormatName(run.part->stored));
    readMxfp4Run(request, run, codes + run.outRow * (decl.columns / 2),
                 scales + run.outRow * (decl.columns / mxfp4Block));
  }
}

} // namespace inf
