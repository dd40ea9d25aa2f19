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

std::vector<uint64_t> shapeOf(const WeightDecl &decl, const WeightPart &part) {
  std::vector<uint64_t> shape = {decl.experts, part.rows};
  if (!decl.isVector())
    shape.push_back(decl.columns);
  return shape;
}

std::string describe(std::string_view type, const std::vector<uint64_t> &shape) {
  return fmt::format("{} [{}]", type, fmt::join(withoutOnes(shape), ", "));
}

void compare(const WeightDecl &decl, const WeightPart &part, const GgufFile &file,
             Differences &differences) {
  const GgufTensor *found = file.findTensor(part.tensor);
  const std::vector<uint64_t> shape = shapeOf(decl, part);
  if (!found)
    return differences.missingTensor(part.tensor);
  if (found->type->stored() == part.stored && part.scales.empty() && !part.transposed &&
      withoutOnes(found->shape) == withoutOnes(shape))
    return;
  differences.mismatchedTensor(quoteShort(part.tensor),
                               describe(weightFormatName(part.stored), shape),
                               describe(found->type->name, found->shape));
}

} // namespace

void checkGgufTensors(const std::vector<WeightDecl> &decls, const GgufFile &file) {
  Differences differences;
  std::set<std::string> read;
  for (const WeightDecl &decl : decls)
    for (const WeightPart &part : decl.parts) {
      compare(decl, part, file, differences);
      read.insert(part.tensor);
    }
  for (const auto &[name, tensor] : file.tensors())
    if (!read.count(name))
      differences.extraTensor(quoteShort(name));
  differences.refuse("the tensors of " + file.path());
}

} // namespace inf
