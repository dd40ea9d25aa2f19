// A small manifest that uses every field, with weights of all layouts.
#pragma once

#include "runtime/format/Manifest.h"

namespace inf::test {

inline std::vector<PackedWeight> sampleWeights() {
  using enum WeightFormat;
  using enum PackedLayout;
  const auto dense = [](const char *name, WeightFormat stored, uint64_t rows, uint64_t columns) {
    return WeightDecl{name, 1, rows, columns, {{name, "", stored, rows, false, false}}};
  };
  const WeightDecl experts = {
      "experts.gate_up", 3, 40, 64, {{"blocks", "scales", MXFP4, 40, false, true}}};
  const WeightDecl bias = {"experts.bias", 3, 40, 1, {{"bias", "", BF16, 40, false, true}}};
  const WeightDecl down = {"experts.down", 3, 33, 50, {{"down", "", BF16, 33, true, false}}};
  return {{dense("embedding", BF16, 37, 33), {BF16, Rows}, 0, 0, "base none"},
          {dense("norm", BF16, 33, 1), {F32, Vector}, 0, 0, "vectors are f32"},
          {experts, {MXFP4, Panel16Pairs}, 0, 0, "stored in blocks"},
          {bias, {F32, VectorPairs}, 0, 0, "vectors are f32"},
          {down, {BF16, Panel16}, 0, 0, "rule *=bf16"},
          {dense("head", F32, 37, 33), {F16, Panel16}, 0, 0, ""}};
}

inline Manifest sampleManifest() {
  Manifest manifest;
  manifest.abiVersion = 5;
  manifest.modelName = "sample";
  manifest.architecture = "gpt_oss";
  manifest.target = "avx512";
  manifest.featureBits = ~uint64_t(0);
  manifest.numerics = "q8 activations, f32 kv";
  manifest.vocabulary = 37;
  manifest.hidden = 33;
  manifest.layers = 2;
  manifest.maxContext = 128;
  manifest.eosTokens = {2, 5};
  manifest.bosToken = 1;
  manifest.weights = sampleWeights();
  layoutWeights(manifest);
  manifest.bytesPerToken = 1234;
  manifest.kvGroups = {{"full", "bf16", 0, 16, 4096, {0, 1}}};
  manifest.ropeTables = {{"yarn", 4, 1.25, {1.0, 0.1 + 0.2}}};
  manifest.plan.maxRows = 8;
  manifest.plan.maxOutputRows = 2;
  manifest.plan.arenaBytes = 4096;
  manifest.plan.scratchBytes = 64;
  manifest.plan.buffers = {{"x", 64, 128, 0, 3}};
  manifest.kernels = {{"inf_gemv", 77, {"sliding/attention.qkv"}}};
  manifest.stages = {{"sliding/attention", 1, {{64, "q8", false, 1, 32}}},
                     {"lm_head", -1, {{StageOutput::logits, "f32", true, 1, 37}}}};
  return manifest;
}

inline std::vector<WeightDecl> declsOf(const Manifest &manifest) {
  std::vector<WeightDecl> decls;
  for (const PackedWeight &weight : manifest.weights)
    decls.push_back(weight.decl);
  return decls;
}

} // namespace inf::test
