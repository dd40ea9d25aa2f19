#include "runtime/server/EventStream.h"

#include "runtime/server/AnswerJson.h"
#include "runtime/server/Sse.h"

namespace inf {

void EventStream::send(std::string text) {
  if (!std::exchange(begun, true))
    exchange->beginStream(streamHead(fields));
  exchange->write(std::move(text));
}

void EventStream::data(std::string_view json) { send(sseData(json)); }

void EventStream::event(std::string_view name, std::string_view json) {
  send(sseEvent(name, json));
}

void EventStream::done() {
  send(std::string(sseDone));
  end();
}

void EventStream::end() { exchange->endStream(); }

void EventStream::fail(const ApiError &error) {
  if (!begun)
    return exchange->respond(errorResponse(error));
  event("error", errorBody(error));
  end();
}

} // namespace inf
