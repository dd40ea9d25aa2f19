#include "runtime/server/Answer.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace inf {

class Answer::Sink : public CompletionSink {
public:
  Sink(std::shared_ptr<Answer> of, uint32_t index, const Tokenizer &tokenizer, ChoicePlan plan)
      : answer(std::move(of)), choice(index), countsPrompt(plan.firstOfPrompt),
        promptOnly(plan.options.promptOnly),
        text(tokenizer, std::move(plan.parser), std::move(plan.options)) {}

  void promptToken(const TokenEvent &event) override { text.promptToken(event); }

  TokenVerdict token(const TokenEvent &event) override {
    TokenVerdict verdict;
    if (answer->failed()) {
      verdict.abandon = true;
      return verdict;
    }
    AnswerPiece piece = text.push(event, verdict);
    if (!piece.empty())
      answer->piece(choice, std::move(piece));
    return verdict;
  }

  void finished(const CompletionResult &result) override {
    ChoiceEnd end;
    AnswerPiece piece = text.finish(result.end, end);
    if (!piece.empty())
      answer->piece(choice, std::move(piece));
    CompletionResult counted = result;
    if (promptOnly)
      counted.generatedTokens = 0; // the one that the service had to make isn't the client's
    answer->ended(choice, counted, end, text.reasoningTokens(), countsPrompt);
    answer.reset();
  }

private:
  std::shared_ptr<Answer> answer;
  const uint32_t choice;
  const bool countsPrompt, promptOnly;
  ChoiceText text;
};

Answer::Answer(CompletionService &completionService, std::unique_ptr<AnswerFormat> answerFormat,
               Done whenDone)
    : service(completionService), format(std::move(answerFormat)), done(std::move(whenDone)) {}

void Answer::start(CompletionService &service, const Tokenizer &tokenizer,
                   std::vector<ChoicePlan> plans, std::unique_ptr<AnswerFormat> format,
                   const std::shared_ptr<HttpExchange> &exchange, Done whenDone) {
  auto answer = std::make_shared<Answer>(service, std::move(format), std::move(whenDone));
  answer->submitAll(tokenizer, std::move(plans));
  answer->open();
  exchange->whenGone([weak = std::weak_ptr<Answer>(answer)] {
    if (auto left = weak.lock())
      left->cancel();
  });
}

void Answer::submitAll(const Tokenizer &tokenizer, std::vector<ChoicePlan> plans) {
  choices.resize(plans.size());
  running = plans.size();
  std::vector<CompletionJob> jobs;
  for (uint32_t i = 0; i < plans.size(); ++i) {
    CompletionRequest request = std::move(plans[i].request);
    jobs.push_back({std::move(request),
                    std::make_shared<Sink>(shared_from_this(), i, tokenizer, std::move(plans[i]))});
  }
  const std::vector<uint64_t> numbers = service.submitAll(std::move(jobs));
  std::lock_guard lock(mutex);
  for (size_t i = 0; i < numbers.size(); ++i)
    choices[i].request = numbers[i];
}

void Answer::open() {
  std::lock_guard lock(mutex);
  opened = true;
  for (auto &call : std::exchange(early, {}))
    if (format)
      call(*format);
}

/// Another choice has failed, and the client knows. (After cancel() the service ends them all.)
bool Answer::failed() {
  std::lock_guard lock(mutex);
  return !format && !cancelled;
}

void Answer::cancel() {
  std::vector<uint64_t> requests;
  std::unique_ptr<AnswerFormat> unused;
  {
    std::lock_guard lock(mutex);
    unused = std::move(format);
    cancelled = true;
    for (const Choice &choice : choices)
      if (choice.request != 0 && !choice.ended)
        requests.push_back(choice.request);
  }
  for (uint64_t request : requests)
    service.cancel(request);
}

/// With the mutex held.
void Answer::deliver(std::function<void(AnswerFormat &)> call) {
  if (!opened)
    early.push_back(std::move(call));
  else if (format)
    call(*format);
}

void Answer::piece(uint32_t choice, AnswerPiece piece) {
  std::lock_guard lock(mutex);
  deliver([choice, p = std::move(piece)](AnswerFormat &to) { to.piece(choice, p); });
}

/// With the mutex held. Nothing of the other choices is shown behind an error.
void Answer::failWith(const ApiError &error) {
  deliver([this, error](AnswerFormat &to) {
    to.failed(error);
    format.reset(); // `to` itself: the last call
  });
}

void Answer::ended(uint32_t choice, const CompletionResult &result, const ChoiceEnd &end,
                   uint32_t reasoning, bool countsPrompt) {
  std::lock_guard lock(mutex);
  choices[choice].ended = true;
  AnswerUsage &usage = summary.usage;
  usage.prompt += countsPrompt ? result.promptTokens : 0;
  usage.cached += countsPrompt ? result.cachedTokens : 0;
  usage.generated += result.generatedTokens;
  usage.reasoning += reasoning;
  summary.queuedSeconds = std::max(summary.queuedSeconds, result.queuedSeconds);
  summary.firstTokenSeconds = std::max(summary.firstTokenSeconds, result.firstTokenSeconds);
  if (summary.warning.empty())
    summary.warning = result.error.empty() ? end.warning : result.error;
  const bool last = --running == 0;
  if (Done call = last ? std::exchange(done, nullptr) : nullptr)
    call(summary);
  deliverEnd(choice, result.end, end);
  if (last)
    deliver([usage](AnswerFormat &to) { to.ended(usage); });
}

/// With the mutex held.
void Answer::deliverEnd(uint32_t choice, CompletionEnd how, const ChoiceEnd &end) {
  switch (how) {
  case CompletionEnd::Error:
    return failWith({500, "server_error", "internal_error",
                     "The model failed while answering; the server's log says why."});
  case CompletionEnd::Deadline:
    return failWith({504, "server_error", "deadline_exceeded",
                     "The answer was not complete within the server's time limit for a request."});
  case CompletionEnd::Cancelled:
    return failWith({503, "server_error", "shutting_down",
                     "The server shut down before the answer was complete."});
  case CompletionEnd::Stop:
  case CompletionEnd::Length:
  case CompletionEnd::Sink:
    return deliver([choice, end](AnswerFormat &to) { to.choiceEnded(choice, end); });
  }
}

} // namespace inf
