// A model in the IR beside its weights: what the reference interpreter needs to run it at any
// stage.
//
//   ReferenceModel model = ReferenceModel::random(denseModel(), 7);
//   model.runTo("plan-memory");
//   ir::ReferenceResult result = model.run({1, 2, 3}, {2});
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "compiler/frontends/ModelDesc.h"
#include "ir/reference/Interpreter.h"
#include "runtime/format/WeightSource.h"

namespace mlir {
class ModuleOp;
} // namespace mlir

namespace inf::test {

struct ReferenceOptions {
  std::string kvElement = "f32"; ///< of cached keys and values: "f32" or "bf16"
  std::string target = "avx2";   ///< whose kernels select-kernels chooses; no meaning depends on it
  std::string quant = "none", activations = "auto"; ///< as `infc compile` has them
  std::set<std::string> without;                    ///< optional stages to leave out
};

/// Movable. Failures of any step are inf::Error.
class ReferenceModel {
public:
  /// A checkpoint directory or model.json with its weights.
  static ReferenceModel fromCheckpoint(const std::string &path,
                                       const ReferenceOptions &options = {});
  /// Random finite weights, as `--weights=random:SEED` packs them.
  static ReferenceModel random(const ModelDesc &desc, uint64_t seed,
                               const ReferenceOptions &options = {});
  /// IR as text, at any stage, with random weights.
  static ReferenceModel parse(const std::string &text, uint64_t seed);
  /// IR as text with weights from `source`.
  static ReferenceModel parse(const std::string &text, std::unique_ptr<WeightSource> source);

  ReferenceModel(ReferenceModel &&);
  ReferenceModel &operator=(ReferenceModel &&);
  ~ReferenceModel();

  /// Runs the stages after those already run, up to and including `stage` (all before lowering:
  /// "verify-plan").
  void runTo(const std::string &stage);

  /// `tokens` as one sequence from position 0; hidden and logits of the rows `outputs` (ascending).
  ir::ReferenceResult run(const std::vector<int32_t> &tokens, const std::vector<int64_t> &outputs);

  mlir::ModuleOp module();
  ir::ModelOp model();
  std::string text();

private:
  struct State;
  explicit ReferenceModel(std::unique_ptr<State> state);
  std::unique_ptr<State> state;
};

} // namespace inf::test
