#include "compiler/frontends/HuggingFace.h"
#include "compiler/frontends/WeightShapes.h"

namespace inf {
namespace {

bool has(const HuggingFaceModel &model, const std::string &tensor, uint64_t layer) {
  return model.checkpoint && model.checkpoint->find(atLayer(tensor, layer));
}

WeightPart plainPart(const HuggingFaceModel &model, const std::string &tensor, uint64_t layer) {
  WeightPart part;
  part.tensor = tensor;
  // Of the first expert: when all are compared, one that differs is listed.
  part.stored = storedAs(model, atExpert(atLayer(tensor, layer), 0));
  return part;
}

} // namespace

void addExpertRules(ModelDesc &desc, const HuggingFaceModel &model, const std::string &weight,
                    const ExpertNames &names) {
  addRule(desc, weight + "gate_up.weight", [&](uint64_t layer) {
    const std::string stacked = names.stacked + "gate_up_proj";
    if (has(model, stacked, layer)) // [experts, gate rows, then up rows, columns]
      return TensorRule{{plainPart(model, stacked, layer)}};
    return TensorRule{{plainPart(model, names.experts + names.gate, layer),
                       plainPart(model, names.experts + names.up, layer)}};
  });
  addRule(desc, weight + "down.weight", [&](uint64_t layer) {
    const std::string stacked = names.stacked + "down_proj";
    return TensorRule{{plainPart(
        model, has(model, stacked, layer) ? stacked : names.experts + names.down, layer)}};
  });
}

} // namespace inf
