#include "compiler/driver/ModelFacts.h"

#include <map>
#include <set>

#include <fmt/format.h>

#include "ir/dialect/RopeFrequencies.h"
#include "passes/BlockWeights.h"
#include "passes/Buffers.h"
#include "passes/KernelUse.h"
#include "passes/QuantPolicy.h"
#include "passes/lower/KvLayout.h"
#include "runtime/abi/inf_abi.h"

namespace inf {
namespace {

WeightDecl declOf(ir::WeightOp weight) {
  WeightDecl decl;
  ir::WeightType type = weight.getType();
  decl.name = weight.getSymName().str();
  decl.experts = uint64_t(type.getExperts());
  decl.rows = uint64_t(type.getRows());
  decl.columns = uint64_t(type.getColumns());
  for (ir::PartAttr part : weight.getParts().getAsRange<ir::PartAttr>()) {
    WeightPart out;
    out.tensor = part.getTensor().str();
    out.scales = part.getScales() ? part.getScales().str() : std::string();
    out.stored = static_cast<WeightFormat>(part.getStored());
    out.rows = uint64_t(part.getRows());
    out.transposed = part.getTransposed();
    out.interleaved = part.getInterleaved();
    decl.parts.push_back(std::move(out));
  }
  return decl;
}

PackedWeight packedOf(ir::WeightOp weight) {
  PackedWeight packed;
  packed.decl = declOf(weight);
  packed.spec = {static_cast<WeightFormat>(*weight.getFormat()),
                 static_cast<PackedLayout>(*weight.getLayout())};
  packed.offset = *weight.getOffset();
  packed.bytes = *weight.getBytes();
  if (auto from = weight->getAttrOfType<mlir::StringAttr>(formatFromAttrName))
    packed.formatFrom = from.str();
  return packed;
}

/// Packed bytes that one generated token reads of `weight` as an operand of `op`.
uint64_t bytesRead(mlir::Operation *op, ir::WeightOp weight) {
  uint64_t bytes = *weight.getBytes();
  if (mlir::isa<ir::EmbeddingOp>(op))
    return bytes / uint64_t(weight.getType().getRows());
  uint64_t experts = uint64_t(weight.getType().getExperts());
  auto chosen = [&](mlir::Value indices) {
    return bytes / experts * uint64_t(ir::featuresOf(indices));
  };
  if (auto up = mlir::dyn_cast<ir::ExpertUpOp>(op))
    return chosen(up.getExperts());
  if (auto down = mlir::dyn_cast<ir::ExpertDownOp>(op))
    return chosen(down.getExperts());
  return bytes;
}

uint64_t bytesPerToken(ir::ModelOp model) {
  uint64_t total = 0;
  model.walk([&](mlir::Operation *op) {
    for (const WeightUse &use : weightUses(op))
      for (ir::WeightOp weight : weightsBehind(model, use.value))
        total += bytesRead(op, weight);
  });
  return total;
}

KvGroup kvGroupOf(ir::KvGroupOp op) {
  KvLayout layout = kvLayout(op);
  KvGroup group;
  group.name = op.getSymName().str();
  group.elementFormat = op.getElement().str();
  group.window = uint64_t(layout.window);
  group.blockTokens = uint64_t(layout.blockTokens);
  group.blockBytes = uint64_t(layout.blockBytes);
  group.layers.assign(op.getLayers().begin(), op.getLayers().end());
  return group;
}

void addBuffers(MemoryPlan &plan, ir::ModelOp model, mlir::Operation *owner,
                const std::string &place) {
  int64_t index = 0;
  for (mlir::Operation &op : owner->getRegion(0).front()) {
    auto offsets = op.getAttrOfType<mlir::DenseI64ArrayAttr>(ir::offsetsAttrName);
    for (mlir::OpResult result : bufferResults(&op)) {
      int64_t offset = offsets.asArrayRef()[result.getResultNumber()];
      int64_t last = index;
      for (mlir::Operation *user : result.getUsers())
        last = std::max(
            last, int64_t(std::distance(op.getBlock()->begin(), mlir::Block::iterator(user))));
      if (offset == callerBuffer)
        continue;
      plan.buffers.push_back(
          {fmt::format("{}/{}.{}#{}", place, index, op.getName().stripDialect().str(),
                       result.getResultNumber()),
           uint64_t(offset),
           uint64_t(bufferBytes(result, *model.getMaxRows(), *model.getMaxOutputRows())), index,
           last});
    }
    if (auto partials = op.getAttrOfType<mlir::IntegerAttr>(ir::partialsAttrName))
      plan.buffers.push_back(
          {fmt::format("{}/{}.{}#partials", place, index, op.getName().stripDialect().str()),
           uint64_t(partials.getInt()), uint64_t(partialsOf(&op, *model.getMaxRows()).bytes()),
           index, index});
    ++index;
  }
}

/// " (...)" of attention whose keys threads may share out; "" of all else.
std::string splitText(mlir::Operation *op) {
  auto partition = op->getAttrOfType<ir::PartitionAttr>(ir::partitionAttrName);
  if (!partition || partition.getSplitRows() == 0)
    return "";
  return fmt::format(" (steps of up to {} rows may be split over chunks of {} keys)",
                     partition.getSplitRows(), partition.getChunkKeys());
}

MemoryPlan planOf(ir::ModelOp model) {
  MemoryPlan plan;
  plan.maxRows = *model.getMaxRows();
  plan.maxOutputRows = *model.getMaxOutputRows();
  plan.arenaBytes = *model.getArena();
  plan.scratchBytes = *model.getScratch();
  for (auto block : model.getBody().getOps<ir::BlockOp>())
    addBuffers(plan, model, block, block.getSymName().str());
  for (auto step : model.getBody().getOps<ir::StepOp>())
    addBuffers(plan, model, step, "step");
  return plan;
}

/// "linear attention.o.weight": where a block has several of an op, the weight tells which.
std::string stageName(mlir::Operation &op) {
  std::string name = op.getName().stripDialect().str();
  auto argument = mlir::dyn_cast_or_null<mlir::BlockArgument>(kernelWeight(&op));
  auto block = op.getParentOfType<ir::BlockOp>();
  if (mlir::isa<ir::LinearOp>(op) && argument && block)
    name = fmt::format("{} {}", name, block.slotName(argument.getArgNumber()).str());
  return name;
}

StageOutput outputOf(mlir::OpResult result, int64_t offset) {
  auto type = mlir::cast<mlir::RankedTensorType>(result.getType());
  StageOutput output;
  output.offset = offset == callerBuffer ? StageOutput::logits : offset;
  output.type = ir::isQ8(result)                      ? "q8"
                : ir::isBf16(result)                  ? "bf16"
                : type.getElementType().isInteger(32) ? "i32"
                                                      : "f32";
  output.outputRows = isOutputRows(result);
  output.vectors = type.getRank() == 3 ? uint64_t(type.getShape()[1]) : 1;
  output.features = uint64_t(ir::featuresOf(result));
  return output;
}

std::vector<StageOutput> outputsOf(mlir::Operation &op) {
  std::vector<StageOutput> outputs;
  auto offsets = op.getAttrOfType<mlir::DenseI64ArrayAttr>(ir::offsetsAttrName);
  for (mlir::OpResult result : bufferResults(&op))
    outputs.push_back(outputOf(result, offsets.asArrayRef()[result.getResultNumber()]));
  return outputs;
}

/// In the order of the barriers: passes/LowerToLLVM.cpp has one behind every stage but the last.
std::vector<Stage> stagesOf(ir::ModelOp model) {
  std::vector<Stage> stages;
  ir::StepOp step = *model.getBody().getOps<ir::StepOp>().begin();
  for (mlir::Operation &op : step.getBody().front().without_terminator()) {
    auto layer = mlir::dyn_cast<ir::LayerOp>(op);
    if (!layer && !mlir::isa<ir::UseOp>(op))
      stages.push_back({stageName(op), -1, outputsOf(op)});
    if (!layer)
      continue;
    auto block = model.lookupSymbol<ir::BlockOp>(layer.getBlockAttr());
    for (mlir::Operation &inner : block.getBody().front().without_terminator())
      stages.push_back({fmt::format("{}/{}", block.getSymName().str(), stageName(inner)),
                        int64_t(layer.getIndex()), outputsOf(inner)});
  }
  return stages;
}

/// The rounded forms in which some product reads its rows, "mxint8+q8", and where sums of bf16 go
/// by 32 columns "bf16_by32"; "f32" when none does.
std::string activationsOf(ir::ModelOp model) {
  std::set<std::string> names;
  model.walk([&](mlir::Operation *op) {
    std::optional<KernelSpec> kernel = kernelOn(op);
    if (!kernel || kernel->op != KernelOp::Linear || kernel->inputs == InputFormat::F32)
      return;
    const bool powers = llvm::any_of(op->getOperands(), ir::isMxint8);
    names.insert(fmt::format("{}{}", powers ? "mxint8" : inputFormatName(kernel->inputs),
                             kernel->order == Bf16Order::Groups ? "_by32" : ""));
  });
  return names.empty() ? "f32" : fmt::format("{}", fmt::join(names, "+"));
}

/// ", dots bf16": what attention multiplies in; "" without attention.
std::string dotsOf(ir::ModelOp model) {
  std::set<std::string_view> forms;
  model.walk([&](ir::AttentionOp op) {
    if (std::optional<KernelSpec> kernel = kernelOn(op))
      forms.insert(inputFormatName(kernel->inputs));
  });
  return forms.empty() ? "" : fmt::format(", dots {}", fmt::join(forms, "+"));
}

std::map<std::string, std::vector<std::string>> kernelUsers(ir::ModelOp model) {
  std::map<std::string, std::vector<std::string>> users;
  model.walk([&](mlir::Operation *op) {
    if (auto name = op->getAttrOfType<mlir::StringAttr>(ir::kernelAttrName))
      users[name.str()].push_back(describe(op) + splitText(op));
  });
  return users;
}

} // namespace

std::vector<WeightDecl> weightDeclsOf(ir::ModelOp model) {
  std::vector<WeightDecl> decls;
  for (auto weight : model.getBody().getOps<ir::WeightOp>())
    decls.push_back(declOf(weight));
  return decls;
}

std::vector<std::string> kernelSymbolsOf(ir::ModelOp model) {
  std::vector<std::string> symbols;
  for (const auto &entry : kernelUsers(model))
    symbols.push_back(entry.first);
  return symbols;
}

Manifest manifestOf(ir::ModelOp model, const std::vector<KernelCode> &kernels,
                    uint64_t featureBits) {
  Manifest manifest;
  manifest.abiVersion = INF_ABI_VERSION;
  manifest.modelName = model.getSymName().str();
  manifest.architecture = model.getArchitecture().str();
  manifest.target = model.getTarget()->str();
  manifest.featureBits = featureBits;
  manifest.vocabulary = model.getVocabulary();
  manifest.hidden = model.getHidden();
  manifest.maxContext = model.getMaxContext();
  manifest.eosTokens.assign(model.getEosTokens().begin(), model.getEosTokens().end());
  manifest.bosToken = int64_t(model.getBosToken());
  std::set<std::string> formats;
  for (auto weight : model.getBody().getOps<ir::WeightOp>()) {
    manifest.weights.push_back(packedOf(weight));
    manifest.weightsBytes = manifest.weights.back().offset + manifest.weights.back().bytes;
    if (!weight.getType().isVector())
      formats.insert(ir::stringifyFormat(*weight.getFormat()).str());
  }
  manifest.bytesPerToken = bytesPerToken(model);
  for (auto group : model.getBody().getOps<ir::KvGroupOp>()) {
    manifest.kvGroups.push_back(kvGroupOf(group));
    manifest.layers += group.getLayers().size();
  }
  for (auto table : model.getBody().getOps<ir::RopeTableOp>()) {
    ir::RopeFrequencies frequencies = ir::ropeFrequencies(table);
    manifest.ropeTables.push_back({table.getSymName().str(), uint64_t(table.getHeadDim()),
                                   frequencies.attentionFactor, frequencies.inverse});
  }
  std::string kv = manifest.kvGroups.empty() ? "none" : manifest.kvGroups[0].elementFormat;
  manifest.numerics = fmt::format("weights {}, activations {}, kv {}{}", fmt::join(formats, "+"),
                                  activationsOf(model), kv, dotsOf(model));
  manifest.plan = planOf(model);
  std::map<std::string, std::vector<std::string>> users = kernelUsers(model);
  for (const KernelCode &kernel : kernels)
    manifest.kernels.push_back({kernel.symbol, kernel.codeBytes, users[kernel.symbol]});
  manifest.stages = stagesOf(model);
  return manifest;
}

} // namespace inf
