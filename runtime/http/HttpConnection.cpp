#include "runtime/http/HttpConnection.h"

#include <algorithm>
#include <exception>
#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/string.hpp>
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

void HttpConnection::refuseRequest(unsigned status, const std::string &reason) {
  hangUpWith(shared->handler.unreadable(status, reason, headOf()));
}

/// Answers outside of any exchange.
void HttpConnection::hangUpWith(const HttpResponse &response) {
  disarm();
  keepAlive = false;
  complete = true;
  share.reset();
  const bool noBody = parser && parser->get().method() == http::verb::head;
  const std::string length = fmt::format("Content-Length: {}", response.body.size());
  queue(formatHead(response, length, false) + (noBody ? "" : response.body));
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
  if (const char *what = ambiguity())
    return refuseRequest(400, what);
  if (!parser->is_done() && refuseEarly())
    return;
  share = std::make_shared<BodyShare>(shared);
  arm(shared->options.bodyTimeout);
  if (parser->get()[http::field::expect] != "100-continue" || parser->is_done())
    return readBody();
  static constexpr std::string_view go = "HTTP/1.1 100 Continue\r\n\r\n";
  asio::async_write(socket, asio::buffer(go.data(), go.size()),
                    [self = shared_from_this()](ErrorCodeOf failed, size_t) {
                      failed ? self->close() : self->readBody();
                    });
}

/// What another server in front of this one could understand in another way: where the body ends
/// (RFC 9112, section 6.3), and whom the request is for (section 3.2). Null when nothing.
const char *HttpConnection::ambiguity() const {
  const auto &head = parser->get();
  const auto coding = head.find(http::field::transfer_encoding);
  if (coding != head.end()) {
    if (head.count(http::field::transfer_encoding) > 1 || head.version() < 11 ||
        !boost::beast::iequals(coding->value(), "chunked"))
      return "its transfer encoding is another than chunked";
    if (head.count(http::field::content_length) > 0)
      return "it has both a length and a transfer encoding";
  }
  const size_t hosts = head.count(http::field::host);
  if (hosts > 1 || (hosts == 0 && head.version() >= 11))
    return "it needs exactly one Host";
  return nullptr;
}

/// Whoever may not ask has no memory filled.
bool HttpConnection::refuseEarly() {
  std::optional<HttpResponse> response;
  try {
    response = shared->handler.refuse(headOf());
  } catch (const std::exception &) {
    refuseRequest(500, "internal error");
    return true;
  }
  if (!response)
    return false;
  ++shared->requests;
  hangUpWith(*response);
  return true;
}

void HttpConnection::readBody() {
  if (parser->is_done())
    return bodyRead({});
  http::async_read_some(
      socket, buffer, *parser,
      [self = shared_from_this()](ErrorCodeOf error, size_t) { self->bodyRead(error); });
}

void HttpConnection::bodyRead(ErrorCodeOf error) {
  if (error)
    return unreadable(error);
  if (!share->growTo(parser->get().body().size()))
    return refuseRequest(503, "the requests being read fill the server's memory for them");
  if (!parser->is_done())
    return readBody();
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

HttpRequest HttpConnection::headOf() const {
  HttpRequest request;
  if (!parser)
    return request;
  const auto &parsed = parser->get();
  request.method = std::string(parsed.method_string());
  std::string target(parsed.target());
  const size_t mark = target.find('?');
  request.path = target.substr(0, mark);
  request.query = mark == std::string::npos ? "" : target.substr(mark + 1);
  for (const auto &field : parsed)
    request.fields.push_back({std::string(field.name_string()), std::string(field.value())});
  return request;
}

HttpRequest HttpConnection::takeRequest() {
  HttpRequest request = headOf();
  request.body = std::move(parser->get().body());
  request.bodyShare = std::exchange(share, nullptr);
  parser.reset();
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
    answering->respond(shared->handler.unreadable(500, "internal error", {}));
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
  const size_t counted = std::min(bytes, countedWriting);
  countedWriting -= counted;
  if (auto answering = exchange.lock())
    answering->taken(counted);
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
