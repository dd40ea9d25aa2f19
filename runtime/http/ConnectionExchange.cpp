// What other threads, and requests that live on, hold of a connection.
#include <utility>

#include "runtime/http/HttpConnection.h"

namespace inf {

bool BodyShare::growTo(size_t size) {
  if (size <= bytes)
    return true;
  const size_t more = size - bytes;
  shared->bodyBytes += more;
  bytes = size;
  return shared->bodyBytes <= shared->options.allBodiesBytes;
}

ConnectionExchange::ConnectionExchange(std::shared_ptr<HttpConnection> to,
                                       std::shared_ptr<HttpShared> sharedState)
    : number(++sharedState->exchanges), shared(std::move(sharedState)), connection(std::move(to)) {}

ConnectionExchange::~ConnectionExchange() {
  shared->post([to = connection, n = number] { to->abandoned(n); });
}

void ConnectionExchange::respond(HttpResponse response) {
  shared->post([to = connection, n = number, r = std::move(response)]() mutable {
    to->respond(n, std::move(r));
  });
}

void ConnectionExchange::beginStream(HttpResponse head) {
  shared->post([to = connection, n = number, h = std::move(head)]() mutable {
    to->beginStream(n, std::move(h));
  });
}

void ConnectionExchange::write(std::string data) {
  if (left || data.empty())
    return;
  if (tooSlow(queued.fetch_add(data.size()))) {
    left = true;
    shared->post([to = connection, n = number] { to->tooSlow(n); });
    return;
  }
  shared->post(
      [to = connection, n = number, d = std::move(data)]() mutable { to->write(n, std::move(d)); });
}

/// Whether the reader takes less than it is given: what waits is too much, and was no more some
/// time ago. A burst that is on its way to a reader is not.
bool ConnectionExchange::tooSlow(size_t waiting) {
  const HttpServerOptions &options = shared->options;
  if (waiting > options.streamMostBytes)
    return true;
  std::lock_guard lock(mutex);
  if (waiting <= options.streamBytes) {
    backlog = 0;
    return false;
  }
  const Clock::time_point now = Clock::now();
  const bool waited = backlog != 0 && now - since > options.streamPatience;
  if (waited && waiting >= backlog)
    return true;
  if (waited || backlog == 0) {
    backlog = waiting;
    since = now;
  }
  return false;
}

void ConnectionExchange::endStream() {
  shared->post([to = connection, n = number] { to->endStream(n); });
}

void ConnectionExchange::whenGone(std::function<void()> call) {
  std::unique_lock lock(mutex);
  callback = std::move(call);
  lock.unlock();
  if (left)
    shared->post([self = shared_from_this()] { self->leave(); });
}

void ConnectionExchange::leave() {
  left = true;
  std::unique_lock lock(mutex);
  std::function<void()> call = std::exchange(callback, nullptr);
  lock.unlock();
  if (call)
    call();
}

} // namespace inf
