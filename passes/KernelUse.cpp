#include "passes/KernelUse.h"

#include "llvm/ADT/TypeSwitch.h"

#include "runtime/base/Error.h"

using namespace mlir;

namespace inf {

namespace {

void add(std::vector<WeightUse> &uses, Value value, ir::Layout layout) {
  if (value)
    uses.push_back({value, layout});
}

Activation activationOf(std::optional<ir::ActivationAttr> attribute) {
  if (!attribute)
    return Activation::None;
  return attribute->getKind() == ir::ActivationKind::Swiglu ? Activation::Swiglu
                                                            : Activation::SwigluClamped;
}

/// What the rows are that the product of `op` reads. (A router's are its own norm's.)
InputFormat productInputs(Operation *op) {
  return llvm::TypeSwitch<Operation *, InputFormat>(op)
      .Case<ir::LinearOp, ir::QkvOp, ir::ExpertUpOp, ir::ExpertDownOp, ir::LmHeadOp>([](auto o) {
        if (ir::isBf16(o.getX()))
          return InputFormat::BF16;
        return ir::isQ8(o.getX()) ? InputFormat::Q8 : InputFormat::F32;
      })
      .Default(InputFormat::F32);
}

/// Kernels that multiply pairs of columns have them side by side.
ir::Layout matrixLayout(Operation *op, bool gateAndUp) {
  if (productInputs(op) == InputFormat::BF16)
    return gateAndUp ? ir::Layout::Panel16PairsBy2 : ir::Layout::Panel16By2;
  return gateAndUp ? ir::Layout::Panel16Pairs : ir::Layout::Panel16;
}

} // namespace

std::vector<WeightUse> weightUses(Operation *op) {
  using ir::Layout;
  std::vector<WeightUse> uses;
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](ir::EmbeddingOp o) { add(uses, o.getWeight(), Layout::Rows); })
      .Case([&](ir::RmsNormOp o) { add(uses, o.getWeight(), Layout::Vector); })
      .Case([&](ir::LinearOp o) {
        bool pairs = bool(o.getActivation());
        add(uses, o.getWeight(), matrixLayout(op, pairs));
        add(uses, o.getBias(), pairs ? Layout::VectorPairs : Layout::Vector);
        add(uses, o.getScale(), pairs ? Layout::VectorPairs : Layout::Vector);
        add(uses, o.getNorm(), Layout::Vector);
      })
      .Case([&](ir::QkvOp o) {
        add(uses, o.getWeight(), matrixLayout(op, false));
        for (Value vector : {o.getBias(), o.getNorm(), o.getQNorm(), o.getKNorm()})
          add(uses, vector, Layout::Vector);
      })
      .Case([&](ir::RouterOp o) {
        add(uses, o.getWeight(), Layout::Panel16);
        add(uses, o.getBias(), Layout::Vector);
        add(uses, o.getNorm(), Layout::Vector);
      })
      .Case([&](ir::AttentionOp o) { add(uses, o.getSinks(), Layout::Vector); })
      .Case([&](ir::ExpertUpOp o) {
        add(uses, o.getWeight(), matrixLayout(op, true));
        add(uses, o.getBias(), Layout::VectorPairs);
      })
      .Case([&](ir::ExpertDownOp o) {
        add(uses, o.getWeight(), matrixLayout(op, false));
        add(uses, o.getBias(), Layout::Vector);
      })
      .Case([&](ir::LmHeadOp o) { add(uses, o.getWeight(), matrixLayout(op, false)); });
  return uses;
}

Value kernelWeight(Operation *op) {
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case<ir::LinearOp, ir::QkvOp, ir::RouterOp, ir::ExpertUpOp, ir::ExpertDownOp, ir::LmHeadOp>(
          [](auto o) -> Value { return o.getWeight(); })
      .Default(Value());
}

std::optional<KernelSpec> kernelDemand(ir::ModelOp model, Operation *op) {
  KernelSpec spec;
  if (auto attention = dyn_cast<ir::AttentionOp>(op)) {
    auto group = model.lookupSymbol<ir::KvGroupOp>(attention.getGroupAttr());
    spec.op = KernelOp::Attention;
    spec.headDim = attention.getHeadDim();
    spec.group = attention.getHeads() / attention.getKvHeads();
    spec.blockTokens = group.getBlockTokens();
    spec.sinks = bool(attention.getSinks());
    if (attention.roundsToBf16())
      spec.inputs = InputFormat::BF16;
    return spec;
  }
  if (!kernelWeight(op))
    return std::nullopt;
  spec.op = KernelOp::Linear;
  spec.inputs = productInputs(op);
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](ir::LinearOp o) {
        spec.bias = bool(o.getBias());
        spec.scale = bool(o.getScale());
        spec.addend = bool(o.getAddend());
        spec.residual = bool(o.getResidual());
        spec.activation = activationOf(o.getActivation());
      })
      .Case([&](ir::QkvOp o) { spec.bias = bool(o.getBias()); })
      .Case([&](ir::RouterOp o) { spec.bias = bool(o.getBias()); })
      .Case([&](ir::ExpertUpOp o) {
        spec.bias = bool(o.getBias());
        spec.activation = activationOf(o.getActivation());
      })
      .Case([&](ir::ExpertDownOp o) { spec.bias = bool(o.getBias()); });
  return spec;
}

std::optional<KernelSpec> kernelOn(Operation *op) {
  auto name = op->getAttrOfType<StringAttr>(ir::kernelAttrName);
  return name ? parseKernelSymbol(name.getValue()) : std::nullopt;
}

FailureOr<Target> findTarget(Operation *op, StringRef name) {
  // Caught here: LLVM's frames above can't be unwound.
  try {
    return targetByName(name.str());
  } catch (const Error &error) {
    return op->emitError() << error.what();
  }
}

std::string describe(Operation *op) {
  std::string where = "step";
  if (auto block = op->getParentOfType<ir::BlockOp>())
    where = ("block " + block.getSymName()).str();
  return where + ", " + op->getName().getStringRef().str();
}

} // namespace inf
