#include "compiler/frontends/gguf/GgufWeights.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "compiler/frontends/Suggest.h"
#include "compiler/frontends/gguf/KQuants.h"
#include "runtime/base/Error.h"
#include "runtime/format/Checked.h"

namespace inf {
namespace {

/// How one tensor is given.
struct View {
  const GgufTensor *tensor = nullptr;
  uint64_t headRows = 0;  ///< of paired heads; 0: rows in the file's order
  uint64_t storedRow = 0; ///< bytes of a row in the file
  uint64_t givenRow = 0;  ///< and as it is given
  uint64_t bytes = 0;     ///< of the whole tensor as it is given
  bool converted() const { return !tensor->type->kept; }
};

/// A vector's rows are its elements, where these can be told apart.
View makeView(const GgufTensor &tensor, uint64_t headRows) {
  View view;
  view.tensor = &tensor;
  view.headRows = headRows;
  const bool elements = tensor.shape.size() == 1 && tensor.type->blockElements == 1;
  const uint64_t columns = elements ? 1 : tensor.columns();
  const uint64_t rows = tensor.elements() / columns;
  view.storedRow = tensor.bytes.size() / rows;
  view.givenRow = view.converted() ? columns * 4 : view.storedRow;
  view.bytes = view.givenRow * rows;
  return view;
}

/// Converted rows: whole super-blocks are decoded and the wanted bytes taken.
void convertRow(const View &view, const uint8_t *row, uint64_t offset, std::span<uint8_t> out) {
  std::array<float, superBlock> values;
  while (!out.empty()) {
    const uint64_t block = offset / sizeof(values), skip = offset % sizeof(values);
    decodeSuperBlock(view.tensor->type->number, row + block * view.tensor->type->blockBytes,
                     values.data());
    const uint64_t count = std::min<uint64_t>(sizeof(values) - skip, out.size());
    std::memcpy(out.data(), reinterpret_cast<const uint8_t *>(values.data()) + skip, count);
    offset += count;
    out = out.subspan(count);
  }
}

/// Where row `row` lies.
uint64_t rowInFile(const View &view, uint64_t row) {
  if (view.headRows == 0)
    return row;
  const uint64_t inHead = row % view.headRows, half = view.headRows / 2;
  return row - inHead + 2 * (inHead % half) + inHead / half;
}

void readRows(const View &view, uint64_t offset, std::span<uint8_t> out) {
  while (!out.empty()) {
    const uint64_t row = offset / view.givenRow, inRow = offset % view.givenRow;
    const uint64_t count = std::min<uint64_t>(view.givenRow - inRow, out.size());
    const uint8_t *stored = view.tensor->bytes.data() + rowInFile(view, row) * view.storedRow;
    if (view.converted())
      convertRow(view, stored, inRow, out.first(count));
    else
      std::memcpy(out.data(), stored + inRow, count);
    offset += count;
    out = out.subspan(count);
  }
}

class GgufSource : public WeightSource {
public:
  GgufSource(std::shared_ptr<const GgufFile> ggufFile, const PairedHeads &paired)
      : file(std::move(ggufFile)) {
    for (const auto &[name, tensor] : file->tensors()) {
      const auto found = paired.find(name);
      const uint64_t headRows = found == paired.end() ? 0 : found->second;
      const uint64_t rows = tensor.shape.front();
      if (headRows != 0 && (headRows % 2 != 0 || rows % headRows != 0 || tensor.shape.size() > 2 ||
                            (tensor.shape.size() == 1 && tensor.type->blockElements != 1)))
        fail(ErrorCode::BadInput,
             "{}: tensor {} of {} has the shape [{}], expected a whole number of heads of {} rows",
             file->path(), quoteShort(name), tensor.type->name, fmt::join(tensor.shape, ", "),
             headRows);
      views.emplace(name, makeView(tensor, headRows));
    }
  }

  void read(const std::string &name, uint64_t offset, std::span<uint8_t> out) const override {
    const auto found = views.find(name);
    if (found == views.end())
      fail(ErrorCode::BadInput,
           "{}: no tensor {}, expected it among its {}; the model's description and the file do "
           "not belong together",
           file->path(), quoteShort(name), views.size());
    const View &view = found->second;
    if (!rangeInside(offset, out.size(), view.bytes))
      fail(ErrorCode::BadInput,
           "{}: {} bytes at {} of tensor {} asked for, expected a range inside its {} bytes; its "
           "shape or type is not what the model's description says",
           file->path(), out.size(), offset, quoteShort(name), view.bytes);
    if (view.headRows == 0 && !view.converted() && !out.empty())
      std::memcpy(out.data(), view.tensor->bytes.data() + offset, out.size());
    else
      readRows(view, offset, out);
  }

  void forget() const override { file->forget(); }

private:
  const std::shared_ptr<const GgufFile> file;
  std::map<std::string, View> views;
};

} // namespace

std::unique_ptr<WeightSource> makeGgufSource(std::shared_ptr<const GgufFile> file,
                                             PairedHeads paired) {
  return std::make_unique<GgufSource>(std::move(file), paired);
}

} // namespace inf
