// From a model to a shared library, in stages that can be stopped, saved and resumed.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "passes/StepRows.h"
#include "runtime/format/Payload.h"

namespace inf {

/// What `--weights` says.
struct WeightsChoice {
  enum class Kind { Checkpoint, None, Random } kind = Kind::Checkpoint;
  std::string directory; ///< Checkpoint (a .gguf too): overrides what the description says
  uint64_t seed = 0;     ///< Random
};
/// "none", "random:SEED", or a directory. Fails with Usage.
WeightsChoice parseWeightsChoice(const std::string &text);

enum class EmitAs { Mlir, Llvm, Asm, Obj, So };
/// "mlir", "llvm", "asm", "obj", "so". Fails with Usage.
EmitAs parseEmit(const std::string &text);

struct CompileOptions {
  std::string input;  ///< checkpoint directory, .gguf, model.json, or .mlir of any stage
  std::string output; ///< file to write; "-" is standard output for text
  std::string target = "native";
  std::string quantPolicy = "int8"; ///< passes/QuantPolicy.h
  /// What products read their rows in. "f32"; "q8": int8 where the weights are in blocks, else f32;
  /// "mxint8": as q8 with scales that are powers of two; "bf16": as q8, and bf16 where the weights
  /// are bf16; "auto": mxint8 for targets with AMX, else q8, but f32 where the policy is `none`,
  /// which rounds nothing.
  std::string activations = "auto";
  std::string kvElement = "bf16";
  WeightsChoice weights;
  EmitAs emit = EmitAs::So;
  bool readsTokenizer = true;    ///< false: the model will take token ids alone
  bool readsWeights = true;      ///< false: a checkpoint is neither needed nor looked at
  std::string stopAfter;         ///< a stage's name, with EmitAs::Mlir
  std::string saveIrDirectory;   ///< one numbered file per stage that changed something
  std::set<std::string> without; ///< optional stages to leave out
  int64_t maxRows = defaultMaxRows;
  int64_t maxOutputRows = 0; ///< 0: defaultMaxOutputRows, or maxRows if fewer
  unsigned threads = 1;      ///< for packing weights
  uint64_t maxMemory = 0;    ///< bytes this process may have resident; 0: no limit
  /// Options the user named ("--target"): one that a .mlir input has decided otherwise is refused.
  std::set<std::string> asked;
  Progress progress;                               ///< packing
  std::function<void(const std::string &)> report; ///< a line about what was decided
};

/// Checks what needs no model, and fills in what was left open. Fails with Usage.
CompileOptions settledOptions(const CompileOptions &asked);

/// Runs the pipeline and writes the output. Fails with an Error; nothing half-written stays.
void compile(const CompileOptions &options);

/// Translates a checkpoint directory or a .gguf file into model.json text, paths relative to
/// `baseDirectory`.
std::string importToJson(const std::string &checkpoint, const std::string &baseDirectory);

} // namespace inf
