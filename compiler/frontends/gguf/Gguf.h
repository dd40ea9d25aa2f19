// GGUF files: one file with description, weights, tokenizer and chat template, as llama.cpp writes
// them. The outside of this folder; the inside is described in README.md.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "compiler/frontends/ModelDesc.h"
#include "runtime/format/WeightSource.h"

namespace inf {

struct GgufOptions {
  /// false: the model will read token ids only, so a tokenizer that can't be read is no error.
  bool tokenizer = true;
};

struct GgufModel {
  ModelDesc desc;            ///< validated; weightsDirectory is the file's absolute path
  std::string tokenizerJson; ///< as Tokenizer::fromJson reads it; "" when the file has none
  std::string chatTemplate;  ///< "" when the file has none
  /// The tensors of desc. Rows of q and k come in the order that rotates halves; tensors of types
  /// that are not kept (Q4_K, Q5_K, Q6_K) come as the f32 values they mean.
  std::unique_ptr<WeightSource> weights;
  /// Sentences for people: what is converted, left out or not done as the file asks.
  std::vector<std::string> notes;
};

/// Architectures: gpt-oss, llama. Every tensor that the model needs is there with a known type and
/// the right shape, and none is left over. Fails with Io when the file can't be read, else with
/// BadInput naming the file and the key, tensor or byte: a damaged file, an unknown version,
/// architecture, key of the architecture, tensor type or tokenizer.
GgufModel readGguf(const std::string &path, const GgufOptions &options = {});

/// The weights alone, for declarations that were made before (an edited IR): they must fit the
/// file's tensors, else BadInput as above.
std::unique_ptr<WeightSource> openGgufWeights(const std::string &path,
                                              const std::vector<WeightDecl> &decls);

} // namespace inf
