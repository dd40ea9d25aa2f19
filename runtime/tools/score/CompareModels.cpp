#include "runtime/tools/score/CompareModels.h"

#include <algorithm>
#include <chrono>

#include "runtime/base/Error.h"

namespace inf {
namespace {

constexpr size_t mostKeptBytes = size_t{64} << 20;

size_t rowsOfTurn(const Session &model, const Session &reference, size_t vocabulary) {
  const size_t fit = std::max<size_t>(1, mostKeptBytes / (vocabulary * sizeof(float)));
  return std::min({fit, size_t{model.maxOutputRows()}, size_t{reference.maxOutputRows()}});
}

bool sameToken(const Tokenizer &a, const Tokenizer &b, int32_t id) {
  if (!a.hasToken(id) || !b.hasToken(id))
    return a.hasToken(id) == b.hasToken(id);
  return a.isSpecial(id) == b.isSpecial(id) && a.tokenBytes(id) == b.tokenBytes(id);
}

} // namespace

void requireSameVocabulary(const Model &model, const Model &reference) {
  if (model.code().vocabulary != reference.code().vocabulary)
    fail(ErrorCode::Usage,
         "'{}' gives {} logits, '{}' {}: their vocabularies differ, so they can't be compared. "
         "Give two builds of one model.",
         model.path(), model.code().vocabulary, reference.path(), reference.code().vocabulary);
  const Tokenizer *a = model.tokenizer(), *b = reference.tokenizer();
  if (!a || !b)
    return;
  const int32_t ids = std::max(a->vocabularySize(), b->vocabularySize());
  for (int32_t id = 0; id < ids; ++id)
    if (!sameToken(*a, *b, id))
      fail(ErrorCode::Usage,
           "token {} is not the same in '{}' and in '{}': their vocabularies differ, so they can't "
           "be compared. Give two builds of one model.",
           id, model.path(), reference.path());
}

ModelComparer::ModelComparer(Session &modelSession, Session &referenceSession,
                             EachLogits eachLogits)
    : model(modelSession), reference(referenceSession), each(std::move(eachLogits)),
      vocabulary(model.model().code().vocabulary), turn(rowsOfTurn(model, reference, vocabulary)),
      kept(turn * vocabulary) {
  requireSameVocabulary(model.model(), reference.model());
}

void ModelComparer::add(std::span<const int32_t> sequence) {
  const auto start = std::chrono::steady_clock::now();
  model.reset(0);
  reference.reset(0);
  for (size_t begin = 0; begin < sequence.size(); begin += turn)
    compareTurn(sequence, begin, std::min(turn, sequence.size() - begin));
  const auto end = std::chrono::steady_clock::now();
  comparison.model.seconds += std::chrono::duration<double>(end - start).count();
  comparison.reference.seconds = comparison.model.seconds;
  comparison.reference.sequences = ++comparison.model.sequences;
}

void ModelComparer::keepLogits(std::span<const int32_t> tokens) {
  PrefillOptions options;
  options.eachLogits = [this](uint64_t index, std::span<const float> logits) {
    std::copy(logits.begin(), logits.end(),
              kept.begin() + static_cast<std::ptrdiff_t>(index * vocabulary));
    if (each)
      each(logits);
  };
  model.prefill(0, tokens, options);
}

void ModelComparer::compareTurn(std::span<const int32_t> sequence, size_t begin, size_t count) {
  const std::span<const int32_t> tokens = sequence.subspan(begin, count);
  keepLogits(tokens);
  PrefillOptions options;
  options.eachLogits = [&](uint64_t index, std::span<const float> logits) {
    if (begin + index + 1 < sequence.size())
      comparison.add(
          compareLogits(std::span<const float>(kept).subspan(index * vocabulary, vocabulary),
                        logits, sequence[begin + index + 1]));
  };
  reference.prefill(0, tokens, options);
}

} // namespace inf
