// The choices of one request, between the service that makes them and the format that sends them.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/engine/CompletionService.h"
#include "runtime/http/HttpServer.h"
#include "runtime/server/AnswerFormat.h"
#include "runtime/server/ChoiceText.h"

namespace inf {

struct ChoicePlan {
  CompletionRequest request;
  std::unique_ptr<ChatParser> parser;
  ChoiceOptions options;
  bool firstOfPrompt = true; ///< its prompt counts in the usage
};

/// What became of an answer, for the log.
struct AnswerSummary {
  AnswerUsage usage;
  double queuedSeconds = 0, firstTokenSeconds = 0;
  std::string warning;
};

class Answer : public std::enable_shared_from_this<Answer> {
public:
  using Done = std::function<void(const AnswerSummary &)>;

  /// Submits every choice; when the client leaves, all are cancelled. `whenDone` is called once
  /// from the service's thread, when every choice has ended, however, and before the format hears
  /// of it; it must not call back. Throws what submitAll() throws; then no choice began and the
  /// format hears nothing. `tokenizer` and `service` must outlive all calls of the service.
  static void start(CompletionService &service, const Tokenizer &tokenizer,
                    std::vector<ChoicePlan> plans, std::unique_ptr<AnswerFormat> format,
                    const std::shared_ptr<HttpExchange> &exchange, Done whenDone);

  Answer(CompletionService &completionService, std::unique_ptr<AnswerFormat> answerFormat,
         Done whenDone);

private:
  class Sink;
  struct Choice {
    uint64_t request = 0; ///< 0: its number is not known yet
    bool ended = false;
  };

  void submitAll(const Tokenizer &tokenizer, std::vector<ChoicePlan> plans);
  void open();
  void cancel();
  bool failed();
  void piece(uint32_t choice, AnswerPiece piece);
  void ended(uint32_t choice, const CompletionResult &result, const ChoiceEnd &end,
             uint32_t reasoning, bool countsPrompt);
  void deliverEnd(uint32_t choice, CompletionEnd how, const ChoiceEnd &end);
  void deliver(std::function<void(AnswerFormat &)> call);
  void failWith(const ApiError &error);

  CompletionService &service;
  std::mutex mutex;                     ///< guards all below
  std::unique_ptr<AnswerFormat> format; ///< null once nobody listens
  Done done;
  std::vector<Choice> choices;
  size_t running = 0;
  bool opened = false, cancelled = false;
  std::vector<std::function<void(AnswerFormat &)>> early; ///< before every choice was submitted
  AnswerSummary summary;
};

} // namespace inf
