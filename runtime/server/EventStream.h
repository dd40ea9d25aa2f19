// A stream of events whose head waits for the first of them, so that an error before it can still
// be an HTTP status.
#pragma once

#include <memory>
#include <string_view>

#include "runtime/http/HttpServer.h"
#include "runtime/server/ApiError.h"

namespace inf {

class EventStream {
public:
  EventStream(std::shared_ptr<HttpExchange> to, std::vector<HttpField> responseFields)
      : exchange(std::move(to)), fields(std::move(responseFields)) {}

  void data(std::string_view json);
  void event(std::string_view name, std::string_view json);
  /// "data: [DONE]", and the end.
  void done();
  void end();
  /// Before the first event an HTTP status, else an event "error"; and the end.
  void fail(const ApiError &error);
  bool started() const { return begun; }

private:
  void send(std::string text);

  std::shared_ptr<HttpExchange> exchange;
  std::vector<HttpField> fields;
  bool begun = false;
};

} // namespace inf
