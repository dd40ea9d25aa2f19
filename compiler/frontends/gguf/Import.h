// What the importers of the architectures share. One importer reads one general.architecture;
// ReadGguf.cpp has their table.
#pragma once

#include <set>
#include <string>

#include "compiler/frontends/ModelDesc.h"
#include "compiler/frontends/gguf/GgufWeights.h"
#include "compiler/frontends/gguf/Metadata.h"

namespace inf {

/// A file under import. Keys of the architecture start with `prefix` ("llama.").
struct GgufImport {
  const GgufFile &file;
  GgufMetadata &metadata;
  std::string prefix;
  ModelDesc &desc;
  PairedHeads paired;                ///< filled by the importer
  std::set<std::string> usedTensors; ///< likewise: those that are no weights

  std::string key(const std::string &name) const { return prefix + name; }
};

/// Dimensions that all models have: vocabulary, hidden, context, norm epsilon, layer count (the
/// kinds of layer are left to the importer), tied embeddings.
uint64_t importDimensions(GgufImport &in);

/// heads, kvHeads, headDim (key_length, value_length, rope.dimension_count must agree).
AttentionDesc importHeads(GgufImport &in);

/// rope.*: plain, linear or yarn; long rope and partial rotation are refused by name. `truncate` is
/// no part of the file.
RopeDesc importGgufRope(GgufImport &in, bool truncate);

/// The part that reads `tensor` ("{layer}" in it), stored as the file has it in `layer`.
WeightPart ggufPart(const GgufImport &in, const std::string &tensor, uint64_t layer);

/// The rule of a weight that is one tensor, or several one after the other.
void addGgufRule(GgufImport &in, const std::string &weight,
                 const std::vector<std::string> &tensors);

/// The rules that all models share: embedding, final norm, head; q, k, v, o and their biases.
void addCommonRules(GgufImport &in, const AttentionDesc &attention);

void importGgufGptOss(GgufImport &in);
void importGgufLlama(GgufImport &in);
void importGgufQwen2(GgufImport &in);
void importGgufQwen3(GgufImport &in);
void importGgufQwen3Moe(GgufImport &in);

} // namespace inf
