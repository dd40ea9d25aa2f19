#include "runtime/server/ObservedExchange.h"

#include <utility>

namespace inf {

ObservedExchange::ObservedExchange(std::shared_ptr<HttpExchange> exchange, RequestRecord start,
                                   std::vector<HttpField> addedFields, Report onEnd)
    : inner(std::move(exchange)), fields(std::move(addedFields)), report(std::move(onEnd)),
      record(std::move(start)) {}

ObservedExchange::~ObservedExchange() {
  if (!over) {
    record.clientLeft = inner->gone();
    complete();
  }
  report(record);
}

void ObservedExchange::complete() {
  over = true;
  record.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}

void ObservedExchange::respond(HttpResponse response) {
  response.fields.insert(response.fields.end(), fields.begin(), fields.end());
  {
    std::lock_guard lock(mutex);
    record.status = response.status;
    record.clientLeft = inner->gone();
    complete();
  }
  inner->respond(std::move(response));
}

void ObservedExchange::beginStream(HttpResponse head) {
  head.fields.insert(head.fields.end(), fields.begin(), fields.end());
  {
    std::lock_guard lock(mutex);
    record.status = head.status;
  }
  inner->beginStream(std::move(head));
}

void ObservedExchange::endStream() {
  {
    std::lock_guard lock(mutex);
    record.clientLeft = inner->gone();
    complete();
  }
  inner->endStream();
}

void ObservedExchange::note(const AnswerSummary &summary) {
  std::lock_guard lock(mutex);
  record.promptTokens = summary.usage.prompt;
  record.cachedTokens = summary.usage.cached;
  record.generatedTokens = summary.usage.generated;
  record.queuedSeconds = summary.queuedSeconds;
  record.firstTokenSeconds = summary.firstTokenSeconds;
  record.error = summary.warning;
}

void ObservedExchange::noteError(const std::string &details) {
  std::lock_guard lock(mutex);
  record.error = details;
}

} // namespace inf
