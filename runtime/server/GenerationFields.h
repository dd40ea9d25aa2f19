// The fields that all endpoints which generate have in common.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/sampler/SamplingOptions.h"
#include "runtime/server/RequestFields.h"

namespace inf {

struct GenerationFields {
  std::string model;
  SamplingOptions sampling; ///< seed filled in; a random one when none was given
  std::optional<uint32_t> maxTokens;
  uint32_t choices = 1; ///< for each prompt
  std::vector<std::string> stop;
  std::vector<int32_t> stopTokens;
  bool ignoreEos = false;
  std::optional<uint32_t> logprobs;
  bool stream = false, includeUsage = false, returnTokenIds = false, skipSpecial = true;
  std::vector<std::string> warnings; ///< what was accepted but does nothing
};

/// Reads `model`, the sampling and stopping fields, `n`, `stream`, `stream_options` and
/// `return_token_ids`. `vocabulary` bounds token ids. Logprobs and the maximum of tokens are the
/// endpoint's to read: they have other names everywhere.
GenerationFields readGenerationFields(RequestFields &fields, uint32_t vocabulary);

/// Fields that OpenAI's APIs know and that cannot change an answer here.
void ignoreHarmlessFields(RequestFields &fields, GenerationFields &to);

inline constexpr int64_t mostTokens = 1 << 24; ///< beyond any context; cut to it later
inline constexpr size_t mostChoices = 128;     ///< of a request, all prompts together
inline constexpr uint32_t mostLogprobs = 20;

} // namespace inf
