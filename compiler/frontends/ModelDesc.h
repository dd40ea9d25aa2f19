// A model as plain structs: what every frontend produces and the import into the IR consumes.
// model.json is its written form (docs/model-json.md); a Hugging Face checkpoint is translated
// into one. There is one road from here to the IR.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/format/Safetensors.h"
#include "runtime/format/WeightDecl.h"

namespace inf {

/// Frequencies theta^(-2j/headDim) and what is done to them:
///   default   nothing
///   linear    divided by factor
///   dynamic   nothing up to originalContext tokens; beyond, they would depend on the length of the
///             text (NTK), and so on how it is cut into steps: maxContext may not exceed it
///   llama3    by wavelength, with factor, lowFrequencyFactor, highFrequencyFactor, originalContext
///   yarn      a ramp, with factor, betaFast, betaSlow, originalContext, truncate
///   longrope  divided one by one, by longFactors when maxContext exceeds originalContext, else by
///             shortFactors: chosen at compile time, for texts of every length
///   divided   divided one by one, by divisors
struct RopeDesc {
  std::string type = "default"; ///< anything else is refused by name
  double theta = 10000;
  double factor = 1, betaFast = 32, betaSlow = 1;
  double lowFrequencyFactor = 1, highFrequencyFactor = 4;
  double originalContext = 0;
  bool truncate = true;
  std::vector<double> shortFactors, longFactors, divisors; ///< headDim / 2 each
  /// Multiplies cos and sin; default 0.1 ln(factor) + 1 for yarn, sqrt(1 + ln(factor) /
  /// ln(originalContext)) for longrope (both 1 for factors up to 1), else 1.
  std::optional<double> attentionFactor;
  bool operator==(const RopeDesc &) const = default;
};

struct AttentionDesc {
  uint64_t heads = 0, kvHeads = 0, headDim = 0;
  uint64_t window = 0;         ///< keys a query sees including itself; 0 = all
  bool bias = false;           ///< q, k, v
  bool outputBias = false;     ///< o
  bool qkNorm = false;         ///< each head of q and k is normed before rope
  bool sinks = false;          ///< one learned logit per head in the softmax's denominator
  std::optional<double> scale; ///< default headDim^-0.5
  std::string rope;            ///< a key of ModelDesc::ropes
  bool operator==(const AttentionDesc &) const = default;
};

struct ActivationDesc {
  std::string type = "swiglu";     ///< "swiglu": silu(gate) * up; "swiglu_clamped": gpt-oss's form
  double limit = 7, alpha = 1.702; ///< swiglu_clamped only
  bool operator==(const ActivationDesc &) const = default;
};

/// Dense MLP: down(act(gate_up(x))).
struct MlpDesc {
  uint64_t intermediate = 0;
  bool bias = false;
  ActivationDesc activation;
  bool operator==(const MlpDesc &) const = default;
};

struct MoeDesc {
  uint64_t experts = 0, topK = 0, intermediate = 0;
  bool routerBias = false, expertBias = false;
  /// The weights of the chosen experts add up to 1; else they are their share of the softmax over
  /// all experts.
  bool normalizeTopK = true;
  ActivationDesc activation;
  bool operator==(const MoeDesc &) const = default;
};

/// One kind of layer: norm, attention, residual; norm, MLP or experts, residual.
struct BlockDesc {
  AttentionDesc attention;
  std::optional<MlpDesc> mlp; ///< exactly one of mlp and moe
  std::optional<MoeDesc> moe;
  bool operator==(const BlockDesc &) const = default;
};

/// How a logical weight is found in a checkpoint. "{layer}" stands for the layer's number,
/// "{expert}" for the expert's, where each expert is a tensor of its own. Several parts are
/// concatenated along the output rows (gate, up). Parts with rows == 0 share what the others leave
/// of the weight's rows, equally.
struct TensorRule {
  std::vector<WeightPart> parts;
  bool operator==(const TensorRule &) const = default;
};

struct ModelDesc {
  std::string name;         ///< "gpt-oss-tiny"
  std::string architecture; ///< "gpt_oss", "llama", ... : informative, nothing branches on it
  uint64_t vocabulary = 0, hidden = 0, maxContext = 0;
  double normEps = 1e-5;
  bool tiedEmbeddings = false; ///< lm_head reads the embedding's tensor
  std::map<std::string, RopeDesc> ropes;
  std::map<std::string, BlockDesc> blocks; ///< kinds of layer by name: "sliding", "full"
  std::vector<std::string> layers;         ///< the kind of each layer, in order
  /// Logical weight name ("{layer}" in it for per-layer ones) -> checkpoint tensors. A rule for one
  /// layer's weight ("layers.3.attention.q.weight") goes before the rule for all.
  std::map<std::string, TensorRule> tensors;
  std::vector<int64_t> eosTokens; ///< stop set, ascending
  int64_t bosToken = -1;
  std::string weightsDirectory; ///< resolved path of the checkpoint, "" when there is none
  std::string tokenizerPath;    ///< resolved path of tokenizer.json, "" when there is none
  std::string chatTemplatePath; ///< likewise, optional
  bool operator==(const ModelDesc &) const = default;
};

/// The logical weights of a description, in the order they are read in a step:
///   embedding.weight [V,H]
///   layers.N.attention.norm.weight [H]
///   layers.N.attention.{q,k,v,o}.weight [rows,columns], .bias [rows]
///   layers.N.attention.{q,k}_norm.weight [headDim]
///   layers.N.attention.sinks [heads]
///   layers.N.mlp.norm.weight [H]  (dense: mlp.gate_up.{weight,bias} [2I,H],
///   mlp.down.{weight,bias}) layers.N.moe.norm.weight [H], moe.router.{weight,bias} [E,H],
///   layers.N.moe.gate_up.{weight,bias} [E][2I,H] (gate rows, then up rows),
///   layers.N.moe.down.{weight,bias} [E][H,I]
///   final_norm.weight [H], lm_head.weight [V,H]
/// With tied embeddings lm_head.weight is read by the rule of embedding.weight and has none itself.
/// Validates first. Fails with BadInput when a weight has no tensor rule, a rule names no such
/// weight, or the storage does not fit the shape (mxfp4 columns not a multiple of 32, ...).
std::vector<WeightDecl> weightDecls(const ModelDesc &desc);

/// Checks dimensions against each other (heads % kvHeads, every layer's kind known, every rope
/// known, topK <= experts, positive sizes, products that fit, token ids inside the vocabulary, eos
/// tokens ascending, ...); fails with BadInput naming the place.
void validate(const ModelDesc &desc);

/// model.json, version 1. Paths inside it are relative to `baseDirectory`, its own directory; the
/// description holds them absolute. The result is validated. Fails with BadInput naming file and
/// place (a syntax error, an unknown key, a wrong type, a missing key, what validate() refuses).
ModelDesc parseModelJson(const std::string &text, const std::string &baseDirectory);
/// The same from a file of at most 4 MiB; Io when it cannot be read.
ModelDesc readModelJson(const std::string &path, std::vector<std::string> *problems = nullptr);
/// Paths below the same top directory as `baseDirectory` are written relative to it.
/// parse(write(x)) == x, but for fields that x's types do not use (yarn's in a default rope).
/// Fails with BadInput when `desc` is not valid.
std::string writeModelJson(const ModelDesc &desc, const std::string &baseDirectory);

/// Translates a Hugging Face checkpoint directory (config.json, generation_config.json,
/// tokenizer.json, safetensors). Model types: gpt_oss (MXFP4 blocks or plain experts), llama,
/// mistral, mixtral, qwen2, qwen3, qwen3_moe.
/// What each tensor is stored as comes from the checkpoint; when the directory holds no
/// safetensors, from config.json (bf16, experts by quantization_config), and weightsDirectory stays
/// "". The stop set is the union of both configs' eos ids. Fails with Io when config.json cannot be
/// read, else with BadInput naming file, key, value and the known ones.
ModelDesc importHuggingFace(const std::string &directory,
                            std::vector<std::string> *problems = nullptr);

/// A checkpoint directory or a model.json, decided by what `path` is. Fails with Io when there is
/// nothing, BadInput for files of other kinds.
///
/// With `problems`, reading goes on after missing keys, wrong types and unknown keys, and notes
/// each there but the last, which is what the Error says; a checkpoint that cannot be opened
/// counts as none.
ModelDesc readModel(const std::string &path, std::vector<std::string> *problems = nullptr);

/// Every tensor the description needs is there with the right dtype and shape and nothing is left
/// over; fails with BadInput listing the first ten missing, extra and mismatched names and counts
/// (mismatched ones with dtype and shape, expected and found).
void checkCheckpoint(const std::vector<WeightDecl> &decls, const Checkpoint &checkpoint);

} // namespace inf
