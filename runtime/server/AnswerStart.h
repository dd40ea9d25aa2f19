// From a request that has been read to an answer on its way.
#pragma once

#include <memory>
#include <vector>

#include "runtime/server/AnswerJson.h"
#include "runtime/server/Endpoints.h"
#include "runtime/server/GenerationFields.h"

namespace inf {

/// Fails with ApiError 404 when `model` is not the one served.
void expectModel(const ServedModel &model, const std::string &name);

/// Fails with ApiError 400 context_length_exceeded, naming both counts, for a prompt that leaves no
/// room for a token, and for an empty one. `param` is the field to name.
void expectPromptFits(const ServedModel &model, size_t tokens, const char *param);

/// Fails with ApiError 400, naming `param`, for more choices than the service could ever take.
void expectPlaces(const ServedModel &model, size_t choices, const char *param);

/// `prefix` starts the id ("cmpl-").
AnswerHead makeHead(const ApiCall &call, const GenerationFields &fields, std::string_view prefix);

/// What a choice of any endpoint is asked for; `choice` shifts the seed, so that choices differ.
CompletionRequest makeRequest(const ApiCall &call, const GenerationFields &fields,
                              std::vector<int32_t> prompt, uint32_t choice);

/// Cuts `most` to what the context holds behind the prompt.
uint32_t tokensThatFit(const ServedModel &model, size_t promptTokens, std::optional<uint32_t> most);

void startAnswer(ApiCall &call, std::vector<ChoicePlan> plans,
                 std::unique_ptr<AnswerFormat> format);

} // namespace inf
