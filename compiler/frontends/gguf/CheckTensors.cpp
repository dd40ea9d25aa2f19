#include <set>

#include <fmt/format.h>

#include "compiler/frontends/Differences.h"
#include "compiler/frontends/Suggest.h"
#include "compiler/frontends/gguf/GgufWeights.h"

namespace inf {
namespace {

/// GGUF drops leading dimensions of 1.
std::vector<uint64_t> withoutOnes(std::vector<uint64_t> shape) {
  while (shape.size() > 1 && shape.front() == 1)
    shape.erase(shape.begin());
  return shape;
}

std::vector<uint64_t> shapeOf(const WeightDecl &decl, const WeightPart &part, uint64_t experts) {
  std::vector<uint64_t> shape = {experts, part.rows};
  if (!decl.isVector())
    shape.push_back(decl.columns);
  return shape;
}

std::string describe(std::string_view type, const std::vector<uint64_t> &shape) {
  return fmt::format("{} [{}]", type, fmt::join(withoutOnes(shape), ", "));
}

void compare(const WeightDecl &decl, const WeightPart &part, const PartTensors &names,
             const GgufFile &file, Differences &differences) {
  const GgufTensor *found = file.findTensor(names.tensor);
  const std::vector<uint64_t> shape = shapeOf(decl, part, names.experts);
  if (!found)
    return differences.missingTensor(names.tensor);
  if (found->type->stored() == part.stored && part.scales.empty() && !part.transposed &&
      withoutOnes(found->shape) == withoutOnes(shape))
    return;
  differences.mismatchedTensor(quoteShort(names.tensor),
                               describe(weightFormatName(part.stored), shape),
                               describe(found->type->name, found->shape));
}

} // namespace

void checkGgufTensors(const std::vector<WeightDecl> &decls, const GgufFile &file,
                      const std::set<std::string> &others) {
  Differences differences;
  std::set<std::string> read = others;
  for (const WeightDecl &decl : decls)
    for (const WeightPart &part : decl.parts)
      for (const PartTensors &names : tensorsOf(decl, part)) {
        compare(decl, part, names, file, differences);
        read.insert(names.tensor);
      }
  for (const auto &[name, tensor] : file.tensors())
    if (!read.count(name))
      differences.extraTensor(quoteShort(name));
  differences.refuse("the tensors of " + file.path());
}

} // namespace inf
