// The planned model becomes LLVM code: one function per kind of layer, the step that calls them
// layer by layer, and the data of inf_abi.h. Every thread runs the same functions; after each stage
// they meet at the barrier.
#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/TypeSwitch.h"

#include "passes/KernelUse.h"
#include "passes/Passes.h"
#include "passes/lower/ModelGlobals.h"
#include "passes/lower/Rows.h"
#include "passes/lower/Stages.h"
#include "runtime/abi/inf_abi.h"

using namespace mlir;

namespace inf {
#define GEN_PASS_DEF_LOWERTOLLVM
#include "InfPasses.h.inc"

void emitKernelCall(StepFrame &frame, Operation *op, Value arguments) {
  Emit &e = frame.e;
  StringRef symbol = op->getAttrOfType<StringAttr>(ir::kernelAttrName).getValue();
  auto module = frame.model->getParentOfType<ModuleOp>();
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(e.b.getContext()), {e.ptr()});
  auto kernel = module.lookupSymbol<LLVM::LLVMFuncOp>(symbol);
  if (!kernel) {
    OpBuilder::InsertionGuard guard(e.b);
    e.b.setInsertionPointToStart(module.getBody());
    kernel = e.b.create<LLVM::LLVMFuncOp>(e.loc, symbol, type);
    kernel.setVisibility_(LLVM::Visibility::Hidden);
    kernel.setDsoLocal(true);
  }
  e.b.create<LLVM::CallOp>(e.loc, kernel, arguments);
}

LogicalResult lowerStage(StepFrame &frame, Operation *op) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case<ir::EmbeddingOp, ir::RmsNormOp, ir::SliceOp, ir::RopeOp, ir::KvAppendOp,
            ir::RouterTopKOp, ir::SwigluOp, ir::QuantizeActivationOp, ir::AddOp, ir::OutputRowsOp,
            ir::LinearOp, ir::QkvOp, ir::RouterOp, ir::LmHeadOp, ir::ExpertUpOp, ir::ExpertDownOp,
            ir::AttentionOp>([&](auto stage) {
        lower(frame, stage);
        return success();
      })
      .Default([](Operation *other) {
        return other->emitError() << describe(other)
                                  << ": no code for this op; run inf-expand-moe "
                                     "and the passes before lowering";
      });
}

namespace {

/// Round to nearest, no traps, denormals kept: what every number of a step is defined by.
constexpr int32_t defaultMxcsr = 0x1f80;

class Lowering {
public:
  Lowering(OpBuilder &opBuilder, ir::ModelOp modelOp, const ModelIdentity &modelIdentity)
      : builder(opBuilder), e(opBuilder, modelOp.getLoc()), model(modelOp),
        identity(modelIdentity) {}

  LogicalResult run() {
    layerBegins = emitLayerTable(e, model);
    for (auto block : model.getBody().getOps<ir::BlockOp>())
      if (failed(emitBlock(block)))
        return failure();
    if (failed(emitStep()))
      return failure();
    emitModelGlobals(e, model, identity);
    return success();
  }

private:
  std::string blockSymbol(StringRef name) { return ("inf_block_" + name).str(); }

  LLVM::LLVMFuncOp createFunction(StringRef name, ArrayRef<Type> arguments) {
    auto type =
        LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(builder.getContext()), arguments);
    auto function = builder.create<LLVM::LLVMFuncOp>(e.loc, name, type, LLVM::Linkage::Internal);
    // There is no libc to call: keep LLVM from turning loops into memcpy and memset.
    function.setPassthroughAttr(builder.getStrArrayAttr({"no-builtins", "nounwind"}));
    return function;
  }

  /// void block(step, thread, weight table, kv slot)
  LogicalResult emitBlock(ir::BlockOp block) {
    OpBuilder::InsertionGuard guard(builder);
    auto function =
        createFunction(blockSymbol(block.getSymName()), {e.ptr(), e.i64(), e.ptr(), e.i64()});
    function.setNoInline(true);
    builder.setInsertionPointToStart(function.addEntryBlock(builder));
    StepFrame frame(e, model, function.getArgument(0), function.getArgument(1));
    frame.weightTable = function.getArgument(2);
    frame.kvSlot = function.getArgument(3);
    for (Operation &op : block.getBody().front().without_terminator()) {
      if (failed(lowerStage(frame, &op)))
        return failure();
      frame.barrier();
    }
    builder.create<LLVM::ReturnOp>(e.loc, ValueRange());
    return success();
  }

  LogicalResult emitStep() {
    OpBuilder::InsertionGuard guard(builder);
    auto function = createFunction(stepSymbol, {e.ptr(), e.i32()});
    builder.setInsertionPointToStart(function.addEntryBlock(builder));
    Value saved = e.stack(4), wanted = e.stack(4);
    callIntrinsic("llvm.x86.sse.stmxcsr", saved);
    e.store(e.constI32(defaultMxcsr), wanted);
    callIntrinsic("llvm.x86.sse.ldmxcsr", wanted);
    StepFrame frame(e, model, function.getArgument(0), e.widen(function.getArgument(1)));
    clearChunkCounters(frame);
    ir::StepOp step = *model.getBody().getOps<ir::StepOp>().begin();
    for (Operation &op : step.getBody().front().without_terminator())
      if (failed(emitStepOp(frame, op)))
        return failure();
    emitHidden(frame, step.getYield().getOperand(0));
    callIntrinsic("llvm.x86.sse.ldmxcsr", saved);
    builder.create<LLVM::ReturnOp>(e.loc, ValueRange());
    return success();
  }

  LogicalResult emitStepOp(StepFrame &frame, Operation &op) {
    if (isa<ir::UseOp>(op))
      return success();
    if (auto layer = dyn_cast<ir::LayerOp>(op)) {
      emitLayerCall(frame, layer);
      emitTap(frame, layer.getResult(), int64_t(layer.getIndex()) + 1);
      return success();
    }
    if (failed(lowerStage(frame, &op)))
      return failure();
    // The threads' return ends the last stage.
    if (!isa<ir::YieldOp>(op.getNextNode()))
      frame.barrier();
    if (auto embedding = dyn_cast<ir::EmbeddingOp>(op))
      emitTap(frame, embedding.getResult(), 0);
    return success();
  }

  void emitLayerCall(StepFrame &frame, ir::LayerOp layer) {
    Value table = builder.create<LLVM::AddressOfOp>(e.loc, e.ptr(), layerTableSymbol);
    table = e.at(table, layerBegins[layer.getIndex()]);
    SmallVector<Value> arguments{frame.step, frame.thread, table,
                                 e.constI64(int64_t(layer.getKvSlot()))};
    auto function = model->getParentOfType<ModuleOp>().lookupSymbol<LLVM::LLVMFuncOp>(
        blockSymbol(layer.getBlock()));
    builder.create<LLVM::CallOp>(e.loc, function, arguments);
  }

  /// Copies the residual stream to the caller's tap, if it has one.
  void emitTap(StepFrame &frame, Value residual, int64_t index) {
    Value taps = e.load(e.ptr(), frame.step, offsetof(inf_step, taps));
    e.ifThen(e.notNull(taps), [&] {
      Value bytes = e.constI64(rowBytes(residual));
      Value base = e.at(taps, e.mul(e.mul(frame.rows, bytes), index));
      frame.ownRows(residual, [&](Value row) {
        emitCopy(e, frame.rowOf(residual, row), e.at(base, e.mul(row, bytes)),
                 ir::featuresOf(residual));
      });
      frame.barrier(); // the next stage may update the residual in place
    });
  }

  void emitHidden(StepFrame &frame, Value hidden) {
    Value to = e.load(e.ptr(), frame.step, offsetof(inf_step, hidden));
    e.ifThen(e.notNull(to), [&] {
      Value bytes = e.constI64(rowBytes(hidden));
      frame.ownRows(hidden, [&](Value row) {
        emitCopy(e, frame.rowOf(hidden, row), e.at(to, e.mul(row, bytes)), ir::featuresOf(hidden));
      });
    });
  }

  void callIntrinsic(StringRef name, Value argument) {
    builder.create<LLVM::CallIntrinsicOp>(e.loc, TypeRange(), builder.getStringAttr(name),
                                          ValueRange{argument}, LLVM::FastmathFlagsAttr());
  }

  OpBuilder &builder;
  Emit e;
  ir::ModelOp model;
  const ModelIdentity &identity;
  std::vector<int64_t> layerBegins;
};

/// What the driver knows about the model beyond the IR: attributes of the module.
ModelIdentity identityOf(ModuleOp module) {
  ModelIdentity identity;
  if (auto id = module->getAttrOfType<DenseI64ArrayAttr>("inf.build_id"); id && id.size() == 2) {
    identity.buildId[0] = uint64_t(id[0]);
    identity.buildId[1] = uint64_t(id[1]);
  }
  if (auto bits = module->getAttrOfType<IntegerAttr>("inf.feature_bits"))
    identity.featureBits = uint64_t(bits.getInt());
  return identity;
}

struct LowerToLLVMPass : impl::LowerToLLVMBase<LowerToLLVMPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    for (auto model : llvm::to_vector(module.getOps<ir::ModelOp>())) {
      OpBuilder builder(&getContext());
      builder.setInsertionPointToEnd(module.getBody());
      if (!model.getScratch() || !model.getMaxRows()) {
        model.emitError() << "expected a memory plan; run inf-plan-memory";
        return signalPassFailure();
      }
      if (failed(Lowering(builder, model, identityOf(module)).run()))
        return signalPassFailure();
      model.erase();
    }
    OpPassManager toLlvm(ModuleOp::getOperationName());
    toLlvm.addPass(createConvertSCFToCFPass());
    toLlvm.addPass(createConvertVectorToLLVMPass());
    toLlvm.addPass(createConvertMathToLLVMPass());
    toLlvm.addPass(createArithToLLVMConversionPass());
    toLlvm.addPass(createConvertControlFlowToLLVMPass());
    toLlvm.addPass(createReconcileUnrealizedCastsPass());
    if (failed(runPipeline(toLlvm, module)))
      signalPassFailure();
  }
};

} // namespace
} // namespace inf
