#include <algorithm>
#include <map>

#include "compiler/frontends/Differences.h"
#include "compiler/frontends/ModelDesc.h"
#include "compiler/frontends/Suggest.h"
#include "runtime/base/Error.h"

namespace inf {
namespace {

struct ExpectedTensor {
  DType dtype;
  std::vector<uint64_t> shape;
};

DType dtypeOf(WeightFormat format) {
  switch (format) {
  case WeightFormat::F32:
    return DType::F32;
  case WeightFormat::F16:
    return DType::F16;
  case WeightFormat::BF16:
    return DType::BF16;
  default:
    fail(ErrorCode::Internal, "weight format {} has no dtype; this is a bug",
         static_cast<uint32_t>(format));
  }
}

/// Blocks in one tensor are GGUF's: no dtype of a checkpoint holds them.
void refuseBlocks(const WeightPart &part) {
  if (isBlockFormat(part.stored) && part.scales.empty())
    fail(ErrorCode::BadInput,
         "tensor {} is declared as {} blocks in one tensor, which only GGUF files hold; give that "
         "file, or correct the description",
         quoteShort(part.tensor), weightFormatName(part.stored));
}

/// What is read of one tensor: [experts,] rows, columns as runtime/format/WeightDecl.h lays them
/// out.
void addExpected(const WeightDecl &decl, const WeightPart &part, const PartTensors &names,
                 std::multimap<std::string, ExpectedTensor> &expected) {
  std::vector<uint64_t> shape;
  if (names.experts > 1)
    shape.push_back(names.experts);
  shape.push_back(part.rows);
  if (part.stored == WeightFormat::MXFP4) {
    shape.push_back(decl.columns / blockColumns);
    expected.insert({names.scales, {DType::U8, shape}});
    shape.push_back(blockColumns / 2); // two codes a byte
    expected.insert({names.tensor, {DType::U8, shape}});
    return;
  }
  if (!decl.isVector()) {
    shape.push_back(decl.columns);
    if (part.transposed)
      std::swap(shape[shape.size() - 1], shape[shape.size() - 2]);
  }
  expected.insert({names.tensor, {dtypeOf(part.stored), shape}});
}

/// A declaration with one expert does not say whether the checkpoint has an axis for it.
bool sameShape(const std::vector<uint64_t> &expected, const std::vector<uint64_t> &found) {
  if (found.size() == expected.size() + 1 && found.front() == 1)
    return std::equal(expected.begin(), expected.end(), found.begin() + 1);
  return expected == found;
}

/// Older checkpoints keep the frequencies of rope, which config.json says better.
bool isComputed(std::string_view name) { return name.ends_with(".rotary_emb.inv_freq"); }

std::string describe(DType dtype, const std::vector<uint64_t> &shape) {
  return fmt::format("{} [{}]", dtypeName(dtype), fmt::join(shape, ", "));
}

void compare(const std::string &name, const ExpectedTensor &want, const TensorInfo *found,
             Differences &differences) {
  if (!found)
    differences.missingTensor(name);
  else if (found->dtype != want.dtype || !sameShape(want.shape, found->shape))
    differences.mismatchedTensor(name, describe(want.dtype, want.shape),
                                 describe(found->dtype, found->shape));
}

} // namespace

void checkCheckpoint(const std::vector<WeightDecl> &decls, const Checkpoint &checkpoint) {
  // Several weights may read one tensor (tied embeddings): each states what it expects.
  std::multimap<std::string, ExpectedTensor> expected;
  for (const WeightDecl &decl : decls)
    for (const WeightPart &part : decl.parts) {
      refuseBlocks(part);
      for (const PartTensors &names : tensorsOf(decl, part))
        addExpected(decl, part, names, expected);
    }
  Differences differences;
  for (const auto &[name, want] : expected)
    compare(name, want, checkpoint.find(name), differences);
  for (const TensorInfo *tensor : checkpoint.tensors())
    if (!expected.count(tensor->name) && !isComputed(tensor->name))
      differences.extraTensor(tensor->name);
  differences.refuse("the checkpoint");
}

} // namespace inf
