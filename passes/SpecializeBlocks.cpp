// Layers whose weights differ in format get a block of their own: a block has one kernel per op,
// and a kernel streams one format.
#include <map>

#include "passes/BlockWeights.h"
#include "passes/Passes.h"

using namespace mlir;

namespace inf {
#define GEN_PASS_DEF_SPECIALIZEBLOCKS
#include "InfPasses.h.inc"

namespace {

using Formats = std::vector<int>;

Formats formatsOf(ir::ModelOp model, ir::LayerOp layer) {
  Formats formats;
  for (unsigned i = 0; i < layer.getWeights().size(); ++i) {
    auto format = boundWeight(model, layer, i + 1).getFormat();
    formats.push_back(format ? int(*format) : -1);
  }
  return formats;
}

struct SpecializeBlocksPass : impl::SpecializeBlocksBase<SpecializeBlocksPass> {
  void runOnOperation() override {
    ir::ModelOp model = getOperation();
    for (auto block : llvm::to_vector(model.getBody().getOps<ir::BlockOp>()))
      specialize(model, block);
  }

  void specialize(ir::ModelOp model, ir::BlockOp block) {
    SymbolTable symbols(model);
    std::map<Formats, ir::BlockOp> kinds;
    for (ir::LayerOp layer : layersOf(model, block)) {
      ir::BlockOp &kind = kinds[formatsOf(model, layer)];
      if (!kind && kinds.size() == 1) {
        kind = block; // the first kind keeps the block
      } else if (!kind) {
        kind = block.clone();
        symbols.insert(kind, std::next(Block::iterator(block))); // renames it to be unique
      }
      layer.setBlock(kind.getSymName());
    }
  }
};

} // namespace
} // namespace inf
