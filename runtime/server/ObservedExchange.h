// An exchange that notes what became of it, and adds the fields that every response has.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/server/Answer.h"
#include "runtime/server/ApiOptions.h"

namespace inf {

class ObservedExchange : public HttpExchange {
public:
  using Report = std::function<void(const RequestRecord &)>;

  /// `onEnd` is called when nobody holds this object any longer: then nothing more can come.
  ObservedExchange(std::shared_ptr<HttpExchange> exchange, RequestRecord start,
                   std::vector<HttpField> addedFields, Report onEnd);
  ~ObservedExchange() override;
  void respond(HttpResponse response) override;
  void beginStream(HttpResponse head) override;
  void write(std::string data) override { inner->write(std::move(data)); }
  void endStream() override;
  void whenGone(std::function<void()> callback) override { inner->whenGone(std::move(callback)); }
  bool gone() const override { return inner->gone(); }

  void note(const AnswerSummary &summary);
  void noteError(const std::string &details);
  const std::string &id() const { return record.id; }
  /// Since the request had come.
  std::chrono::milliseconds age() const {
    return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() -
                                                                 began);
  }

private:
  void complete();

  const std::shared_ptr<HttpExchange> inner;
  const std::vector<HttpField> fields;
  const Report report;
  const std::chrono::steady_clock::time_point began = std::chrono::steady_clock::now();
  std::mutex mutex; ///< guards the rest
  RequestRecord record;
  bool over = false;
};

} // namespace inf
