#include "runtime/http/HttpConnection.h"

#include <exception>
#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/read.hpp>
#include <fmt/format.h>

namespace inf {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;

constexpr size_t readAtOnce = 16 << 10;
constexpr size_t lingerBytes = 1 << 20; ///< of a refused body that are read before we hang up
constexpr std::chrono::milliseconds lingerTime{2'000};

unsigned statusOf(const boost::system::error_code &error) {
  if (error == http::error::body_limit)
    return 413;
  if (error == http::error::header_limit || error == http::error::buffer_overflow)
    return 431;
  return 400;
}

} // namespace

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
  if ((queued += data.size()) > shared->options.streamBytes) {
    left = true;
    shared->post([to = connection, n = number] { to->tooSlow(n); });
    return;
  }
  shared->post(
      [to = connection, n = number, d = std::move(data)]() mutable { to->write(n, std::move(d)); });
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

HttpConnection::HttpConnection(Tcp::socket connected, std::shared_ptr<HttpShared> sharedState)
    : socket(std::move(connected)), shared(std::move(sharedState)),
      readTimer(socket.get_executor()), writeTimer(socket.get_executor()),
      buffer(shared->options.headerBytes + shared->options.pipelineBytes + readAtOnce) {}

void HttpConnection::start() {
  ErrorCodeOf ignored;
  socket.set_option(Tcp::no_delay(true), ignored);
  awaitRequest();
}

void HttpConnection::refuse() { refuseRequest(503, "too many connections are open"); }

/// Answers outside of any exchange, and hangs up.
void HttpConnection::refuseRequest(unsigned status, const std::string &reason) {
  HttpResponse response = shared->handler.unreadable(status, reason);
  keepAlive = false;
  complete = true;
  const std::string length = fmt::format("Content-Length: {}", response.body.size());
  queue(formatHead(response, length, false) + response.body);
}

void HttpConnection::close() {
  if (std::exchange(closed, true))
    return;
  readTimer.cancel();
  writeTimer.cancel();
  ErrorCodeOf ignored;
  socket.close(ignored);
  if (auto answering = exchange.lock(); answering && current) {
    current = 0;
    if (!complete) {
      ++shared->gone;
      answering->leave();
    }
  }
  --shared->open;
  shared->connections.erase(shared_from_this());
}

void HttpConnection::closeWhenIdle() {
  keepAlive = false;
  if (idle)
    close();
}

/// A timer that fires at the moment it is cancelled has its handler queued already: the number
/// tells it that it is too late.
void HttpConnection::arm(std::chrono::milliseconds time) {
  readTimer.expires_after(time);
  readTimer.async_wait([self = shared_from_this(), number = ++readWait](ErrorCodeOf error) {
    if (error || self->closed || number != self->readWait)
      return;
    self->timedOut = true;
    ErrorCodeOf ignored;
    self->socket.cancel(ignored);
  });
}

void HttpConnection::disarm() {
  ++readWait;
  readTimer.cancel();
}

void HttpConnection::awaitRequest() {
  if (closed)
    return;
  timedOut = false;
  if (buffer.size() > 0)
    return readHeader();
  idle = true;
  arm(shared->options.idleTimeout);
  socket.async_wait(Tcp::socket::wait_read, [self = shared_from_this()](ErrorCodeOf error) {
    self->idle = false;
    if (error || self->timedOut)
      return self->close();
    self->readHeader();
  });
}

void HttpConnection::readHeader() {
  parser.emplace();
  parser->header_limit(static_cast<uint32_t>(shared->options.headerBytes));
  parser->body_limit(shared->options.bodyBytes);
  arm(shared->options.headerTimeout);
  http::async_read_header(
      socket, buffer, *parser,
      [self = shared_from_this()](ErrorCodeOf error, size_t) { self->headerRead(error); });
}

void HttpConnection::headerRead(ErrorCodeOf error) {
  if (error)
    return unreadable(error);
  arm(shared->options.bodyTimeout);
  if (parser->get()[http::field::expect] != "100-continue" || parser->is_done())
    return readBody();
  static constexpr std::string_view go = "HTTP/1.1 100 Continue\r\n\r\n";
  asio::async_write(socket, asio::buffer(go.data(), go.size()),
                    [self = shared_from_this()](ErrorCodeOf failed, size_t) {
                      failed ? self->close() : self->readBody();
                    });
}

void HttpConnection::readBody() {
  http::async_read(socket, buffer, *parser, [self = shared_from_this()](ErrorCodeOf error, size_t) {
    self->bodyRead(error);
  });
}

void HttpConnection::bodyRead(ErrorCodeOf error) {
  if (error)
    return unreadable(error);
  disarm();
  dispatch();
}

/// The stream can't be followed any further: say why, if anybody listens, and hang up.
void HttpConnection::unreadable(ErrorCodeOf error) {
  disarm();
  const bool late = timedOut && error == asio::error::operation_aborted;
  if (closed ||
      (!late && error.category() != make_error_code(http::error::bad_method).category()) ||
      error == http::error::end_of_stream || error == http::error::partial_message)
    return close();
  late ? refuseRequest(408, "it took too long to arrive")
       : refuseRequest(statusOf(error), error.message());
}

HttpRequest HttpConnection::takeRequest() {
  http::request<http::string_body> parsed = parser->release();
  parser.reset();
  HttpRequest request;
  request.method = std::string(parsed.method_string());
  std::string target(parsed.target());
  const size_t mark = target.find('?');
  request.path = target.substr(0, mark);
  request.query = mark == std::string::npos ? "" : target.substr(mark + 1);
  for (const auto &field : parsed)
    request.fields.push_back({std::string(field.name_string()), std::string(field.value())});
  request.body = std::move(parsed.body());
  return request;
}

void HttpConnection::dispatch() {
  keepAlive = parser->keep_alive() && !shared->stopping;
  const bool oldVersion = parser->get().version() < 11;
  chunked = !oldVersion;
  keepAlive = keepAlive && !oldVersion;
  headOnly = parser->get().method() == http::verb::head;
  complete = false;
  ++shared->requests;
  auto answering = std::make_shared<ConnectionExchange>(shared_from_this(), shared);
  exchange = answering;
  current = answering->number;
  watch();
  try {
    shared->handler.handle(takeRequest(), answering);
  } catch (const std::exception &) {
    answering->respond(shared->handler.unreadable(500, "internal error"));
  }
}

/// Reads while a request is answered: the end of the stream is a client that left.
void HttpConnection::watch() {
  if (closed || buffer.size() >= shared->options.pipelineBytes)
    return;
  watching = true;
  socket.async_read_some(buffer.prepare(readAtOnce),
                         [self = shared_from_this()](ErrorCodeOf error, size_t bytes) {
                           self->watched(error, bytes);
                         });
}

void HttpConnection::watched(ErrorCodeOf error, size_t bytes) {
  watching = false;
  if (closed)
    return;
  buffer.commit(bytes);
  const bool answered = current == 0;
  if (error && !(answered && error == asio::error::operation_aborted))
    return close();
  answered ? nextRequest() : watch();
}

void HttpConnection::respond(uint64_t from, HttpResponse response) {
  if (closed || from != current)
    return;
  keepAlive = keepAlive && !response.close && !shared->stopping;
  std::string head =
      formatHead(response, fmt::format("Content-Length: {}", response.body.size()), keepAlive);
  complete = true;
  queue(headOnly ? std::move(head) : head + response.body);
}

void HttpConnection::beginStream(uint64_t from, HttpResponse head) {
  if (closed || from != current)
    return;
  keepAlive = keepAlive && !head.close && !shared->stopping;
  queue(formatHead(head, chunked ? "Transfer-Encoding: chunked" : "", keepAlive));
}

void HttpConnection::write(uint64_t from, std::string data) {
  if (closed || from != current || complete)
    return;
  countedOut += data.size();
  queue(chunked ? formatChunk(data) : std::move(data));
}

void HttpConnection::endStream(uint64_t from) {
  if (closed || from != current || complete)
    return;
  complete = true;
  queue(chunked ? std::string(lastChunk) : std::string());
}

void HttpConnection::tooSlow(uint64_t from) {
  if (closed || from != current)
    return;
  ++shared->slowReaders;
  close();
}

void HttpConnection::abandoned(uint64_t from) {
  if (from == current && !complete)
    close();
}

void HttpConnection::queue(std::string data) {
  out += data;
  if (!writeActive)
    writeSome();
}

void HttpConnection::armWrite() {
  writeTimer.expires_after(shared->options.writeTimeout);
  writeTimer.async_wait([self = shared_from_this(), number = ++writeWait](ErrorCodeOf error) {
    if (error || self->closed || number != self->writeWait)
      return;
    ++self->shared->slowReaders;
    self->close();
  });
}

void HttpConnection::writeSome() {
  if (writtenBytes == writing.size()) {
    if (auto answering = exchange.lock())
      answering->taken(countedWriting);
    writing = std::exchange(out, {});
    countedWriting = std::exchange(countedOut, 0);
    writtenBytes = 0;
  }
  if (writing.empty()) {
    writeActive = false;
    ++writeWait;
    writeTimer.cancel();
    if (complete)
      finished();
    return;
  }
  writeActive = true;
  armWrite();
  socket.async_write_some(
      asio::buffer(writing.data() + writtenBytes, writing.size() - writtenBytes),
      [self = shared_from_this()](ErrorCodeOf error, size_t bytes) {
        self->written(error, bytes);
      });
}

void HttpConnection::written(ErrorCodeOf error, size_t bytes) {
  if (closed)
    return;
  if (error)
    return close();
  writtenBytes += bytes;
  writeSome();
}

void HttpConnection::finished() {
  current = 0;
  if (!keepAlive)
    return linger();
  if (!watching)
    return nextRequest();
  ErrorCodeOf ignored;
  socket.cancel(ignored); // watched() goes on
}

void HttpConnection::nextRequest() { keepAlive ? awaitRequest() : linger(); }

/// Hanging up while the client still sends would reset the connection and could take the answer
/// with it: say that we are done, and read a little more.
void HttpConnection::linger() {
  if (closed)
    return;
  ErrorCodeOf ignored;
  if (!std::exchange(lingering, true)) {
    socket.shutdown(Tcp::socket::shutdown_send, ignored);
    writeTimer.expires_after(lingerTime);
    writeTimer.async_wait([self = shared_from_this()](ErrorCodeOf error) {
      if (!error)
        self->close();
    });
  }
  if (watching) {
    socket.cancel(ignored); // watched() comes back here
    return;
  }
  buffer.consume(buffer.size());
  socket.async_read_some(buffer.prepare(readAtOnce),
                         [self = shared_from_this()](ErrorCodeOf error, size_t bytes) {
                           self->lingered += bytes;
                           if (error || self->lingered > lingerBytes)
                             return self->close();
                           self->linger();
                         });
}

} // namespace inf
