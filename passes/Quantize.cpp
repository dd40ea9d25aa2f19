// Decides the format each weight is packed to.
#include "llvm/ADT/DenseSet.h"

#include "passes/BlockWeights.h"
#include "passes/KernelUse.h"
#include "passes/Passes.h"
#include "passes/QuantPolicy.h"
#include "runtime/base/Error.h"

using namespace mlir;

namespace inf {
#define GEN_PASS_DEF_QUANTIZE
#include "InfPasses.h.inc"

namespace {

/// What `none` does: the stored format; vectors, and parts that differ, meet in f32, which holds
/// all of them exactly.
ir::Format keepStored(ir::WeightOp weight) {
  if (weight.getType().isVector())
    return ir::Format::F32;
  return weight.storedFormat().value_or(ir::Format::F32);
}

bool feedsRouter(ir::LinearOp product) {
  return llvm::any_of(product->getUsers(),
                      [](Operation *user) { return isa<ir::RouterTopKOp>(user); });
}

/// Weights that a policy leaves alone: a router's choice is a comparison, which the smallest error
/// can turn, and its matrix is small; of an embedding a token reads one row. A rule by name may
/// still ask for it.
llvm::DenseSet<Operation *> weightsLeftAlone(ir::ModelOp model) {
  llvm::DenseSet<Operation *> found;
  auto add = [&](Value value) {
    for (ir::WeightOp weight : weightsBehind(model, value))
      found.insert(weight);
  };
  model.walk([&](Operation *op) {
    if (auto embedding = dyn_cast<ir::EmbeddingOp>(op))
      add(embedding.getWeight());
    if (auto router = dyn_cast<ir::RouterOp>(op))
      add(router.getWeight());
    if (auto product = dyn_cast<ir::LinearOp>(op); product && feedsRouter(product))
      add(product.getWeight());
  });
  return found;
}

/// The last rule that names the weight. One that is left alone must be named in full: a star takes
/// in more than one thinks of.
const QuantRule *ruleFor(const QuantPolicy &policy, ir::WeightOp weight, bool leftAlone) {
  const QuantRule *found = nullptr;
  for (const QuantRule &rule : policy.rules)
    if (matchesWeight(rule.pattern, weight.getSymName().str()) &&
        (!leftAlone || rule.pattern.find_first_of("*?") == std::string::npos))
      found = &rule;
  return found;
}

struct QuantizePass : impl::QuantizeBase<QuantizePass> {
  using QuantizeBase::QuantizeBase;

  void runOnOperation() override {
    ir::ModelOp model = getOperation();
    std::optional<QuantPolicy> parsed = parsePolicy(model);
    if (!parsed || failed(checkPatterns(model, *parsed)))
      return signalPassFailure();
    if (!llvm::is_contained({"f32", "q8", "mxint8", "bf16"}, StringRef(activations))) {
      model.emitError() << "expected activations f32, q8, mxint8 or bf16, found " << activations;
      return signalPassFailure();
    }
    if (!model.getActivations())
      model.setActivations(StringRef(activations));
    llvm::DenseSet<Operation *> leftAlone = weightsLeftAlone(model);
    for (auto weight : model.getBody().getOps<ir::WeightOp>()) {
      if (weight.getFormat())
        continue; // set by hand
      std::optional<Decision> decision = decide(*parsed, weight, leftAlone.contains(weight));
      if (!decision)
        return signalPassFailure();
      weight.setFormat(decision->format ? static_cast<ir::Format>(*decision->format)
                                        : keepStored(weight));
      weight->setAttr(formatFromAttrName, StringAttr::get(&getContext(), decision->from));
    }
  }

  /// A format (nullopt: as stored) and what says so.
  struct Decision {
    std::optional<WeightFormat> format;
    std::string from;
  };

  /// nullopt after an error.
  static std::optional<Decision> decide(const QuantPolicy &policy, ir::WeightOp weight,
                                        bool alone) {
    if (weight.getType().isVector())
      return Decision{std::nullopt, "vectors (norms, biases, sinks) are f32"};
    if (const QuantRule *rule = ruleFor(policy, weight, alone)) {
      if (rule->format && failed(checkRule(weight, *rule)))
        return std::nullopt;
      return Decision{rule->format, "rule " + rule->pattern + "=" + nameOf(rule->format)};
    }
    if (alone)
      return Decision{std::nullopt, "embeddings and routers stay as stored unless named in full"};
    if (!isDense(weight))
      return Decision{std::nullopt, "stored in blocks"};
    if (!fits(weight, policy.base))
      return Decision{std::nullopt, std::to_string(weight.getType().getColumns()) +
                                        " columns are no multiple of 32: as stored"};
    return Decision{policy.base, "base " + nameOf(policy.base)};
  }

  static std::string nameOf(std::optional<WeightFormat> format) {
    return format ? std::string(weightFormatName(*format)) : "none";
  }

  std::optional<QuantPolicy> parsePolicy(ir::ModelOp model) {
    // Caught here: LLVM's frames above can't be unwound.
    try {
      return parseQuantPolicy(policy);
    } catch (const Error &error) {
      model.emitError() << error.what();
      return std::nullopt;
    }
  }

  /// A pattern that names nothing is a slip of the pen, not a wish.
  LogicalResult checkPatterns(ir::ModelOp model, const QuantPolicy &parsed) {
    auto weights = model.getBody().getOps<ir::WeightOp>();
    for (const QuantRule &rule : parsed.rules) {
      bool names = llvm::any_of(weights, [&](ir::WeightOp weight) {
        return !weight.getType().isVector() &&
               matchesWeight(rule.pattern, weight.getSymName().str());
      });
      if (names || weights.empty())
        continue;
      return model.emitError() << "quantization rule " << rule.pattern
                               << " names no matrix of this model; its weights are named as "
                               << (*weights.begin()).getSymName() << ", `infc inspect` lists them";
    }
    return success();
  }

  /// What a rule asks for by name must be possible.
  static LogicalResult checkRule(ir::WeightOp weight, const QuantRule &rule) {
    StringRef name = weight.getSymName();
    StringRef format(weightFormatName(*rule.format));
    if (!fits(weight, rule.format))
      return weight.emitError() << "weight " << name << " has " << weight.getType().getColumns()
                                << " columns, expected a multiple of 32 for " << format
                                << "; leave it out of rule " << rule.pattern;
    return success();
  }

  /// A matrix stored in floats alone.
  static bool isDense(ir::WeightOp weight) {
    return !weight.getType().isVector() &&
           llvm::none_of(weight.getParts().getAsRange<ir::PartAttr>(),
                         [](ir::PartAttr part) { return ir::isBlockFormat(part.getStored()); });
  }
  static bool fits(ir::WeightOp weight, std::optional<WeightFormat> format) {
    return !format || !isBlockFormat(*format) || weight.getType().getColumns() % ir::q8Block == 0;
  }
};

} // namespace
} // namespace inf
