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
};

/// A positive count of at most the largest dimension.
uint64_t configDimension(JsonObject &config, std::string_view key);

/// `rope_scaling` with `rope_theta` (older) or `rope_parameters` (newer). Types default and yarn.
/// Refuses another type, unknown keys (each of them changes the angles), both spellings when they
/// differ, and neither: a rope that is silently dropped shows only on long prompts.
RopeDesc importRope(JsonObject &config);

/// The storage of a tensor: from the checkpoint, or bf16 when it is not there (checkCheckpoint
/// lists it later). Fails with BadInput when its dtype is none of F32, F16, BF16.
WeightFormat storedAs(const HuggingFaceModel &model, const std::string &tensor);

/// The rule of a weight stored as one plain tensor.
void addPlainRule(ModelDesc &desc, const HuggingFaceModel &model, const std::string &weight,
                  const std::string &tensor);

/// GptOssForCausalLM; fills everything but name, tokens and paths.
void importGptOss(HuggingFaceModel &model, ModelDesc &desc);

} // namespace inf
