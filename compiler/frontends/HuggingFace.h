// Hugging Face checkpoints: what the importers of the architectures share. One importer translates
// one model_type; HuggingFace.cpp has their table.
#pragma once

#include <string>

#include "compiler/frontends/JsonReader.h"
#include "compiler/frontends/ModelDesc.h"
#include "compiler/frontends/TensorRules.h"

namespace inf {

/// A directory's config.json under reading and its checkpoint, if it has one.
struct HuggingFaceModel {
  JsonObject config;
  const Checkpoint *checkpoint = nullptr; ///< null: config.json alone
  /// What tensors of the stack of layers begin with ("model.", "language_model.model.", or
  /// nothing), and the head's name: as the checkpoint has them.
  std::string prefix = "model.", head = "lm_head.weight";
};

/// A positive count of at most the largest dimension.
uint64_t configDimension(JsonObject &config, std::string_view key);

/// A key that may only be absent or have its neutral value: another would change what is computed.
/// Fails with BadInput naming key and value.
void expectNeutral(JsonObject &config, std::string_view key, double neutral);
void expectNeutral(JsonObject &config, std::string_view key, bool neutral);
/// A key that must not be there.
void expectAbsent(JsonObject &config, std::string_view key);

/// `num_hidden_layers`, checked before anything is repeated per layer.
uint64_t layerCount(JsonObject &config);
/// Whether each layer has the sliding window, by `layer_types`; nullopt when the key is absent.
std::optional<std::vector<bool>> slidingLayers(JsonObject &config, uint64_t layers);

/// A count under the newer key or the older one; where both are, they must agree.
uint64_t countOfEither(JsonObject &config, std::string_view newer, std::string_view older);

/// `tie_word_embeddings`. A head that is in the checkpoint all the same is read as it is when it
/// equals the embedding; else BadInput: readers differ in which of the two they take.
bool importTied(HuggingFaceModel &model);

/// What an architecture takes for granted about rope.
struct RopeDefaults {
  bool mayBeAbsent = false;    ///< neither spelling: no scaling
  std::optional<double> theta; ///< where config.json has none
};

/// `rope_scaling` with `rope_theta` (older) or `rope_parameters` (newer). Types default, linear,
/// dynamic, llama3, yarn and longrope. Refuses another type, unknown keys (each of them changes the
/// angles), both spellings when they differ, and neither: a rope that is silently dropped shows
/// only on long prompts.
RopeDesc importRope(JsonObject &config, const RopeDefaults &defaults = {});

/// The storage of a tensor: from the checkpoint, or bf16 when it is not there (checkCheckpoint
/// lists it later). Fails with BadInput when its dtype is none of F32, F16, BF16.
WeightFormat storedAs(const HuggingFaceModel &model, const std::string &tensor);

/// The rule of a weight stored as one plain tensor.
void addPlainRule(ModelDesc &desc, const HuggingFaceModel &model, const std::string &weight,
                  const std::string &tensor);

/// The rules of an MLP's gate, up and down, and of experts that are gated the same way: a tensor
/// for each expert and matrix (`gate`, `up`, `down` below `experts`, "{expert}" in it), or, where
/// the checkpoint has them, all experts stacked in gate_up_proj and down_proj below `stacked`.
struct ExpertNames {
  std::string experts, stacked, gate, up, down;
};
void addExpertRules(ModelDesc &desc, const HuggingFaceModel &model, const std::string &weight,
                    const ExpertNames &names);

/// Dense models of Llama's shape and their mixtures of experts (LlamaFamily.cpp); each fills
/// everything but name, tokens and paths.
void importLlama(HuggingFaceModel &model, ModelDesc &desc);
void importMistral(HuggingFaceModel &model, ModelDesc &desc);
void importMixtral(HuggingFaceModel &model, ModelDesc &desc);
void importQwen2(HuggingFaceModel &model, ModelDesc &desc);
void importQwen3(HuggingFaceModel &model, ModelDesc &desc);
void importQwen3Moe(HuggingFaceModel &model, ModelDesc &desc);

/// GptOssForCausalLM; fills everything but name, tokens and paths.
void importGptOss(HuggingFaceModel &model, ModelDesc &desc);

} // namespace inf
