// One client's connection. Only HttpServer.cpp and HttpConnection.cpp include this: it brings
// Boost.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include "runtime/http/HttpServer.h"

namespace inf {

class HttpConnection;

/// What all connections of a server share; touched on the thread of input and output only, but for
/// the atomics and post(). Exchanges that somebody still holds keep it alive, not the handler.
struct HttpShared {
  HttpShared(const HttpServerOptions &serverOptions, HttpHandler &requestHandler)
      : options(serverOptions), handler(requestHandler) {}

  /// Runs `task` on that thread; after the server has stopped, never.
  template <typename Task> void post(Task &&task) {
    std::lock_guard lock(mutex);
    if (!stopped)
      boost::asio::post(context, std::forward<Task>(task));
  }

  boost::asio::io_context context{1};
  const HttpServerOptions options;
  HttpHandler &handler;
  std::set<std::shared_ptr<HttpConnection>> connections;
  bool stopping = false;
  std::atomic<uint64_t> accepted{0}, refused{0}, open{0}, requests{0}, gone{0}, slowReaders{0};
  std::atomic<uint64_t> exchanges{0}; ///< numbers given
  std::atomic<size_t> bodyBytes{0};   ///< of all requests, read and not yet answered for
  std::mutex mutex;
  bool stopped = false; ///< guarded by mutex
};

/// A body's part of HttpServerOptions::allBodiesBytes, given back when the last one lets go of it.
class BodyShare {
public:
  explicit BodyShare(std::shared_ptr<HttpShared> sharedState) : shared(std::move(sharedState)) {}
  ~BodyShare() { shared->bodyBytes -= bytes; }
  BodyShare(const BodyShare &) = delete;
  BodyShare &operator=(const BodyShare &) = delete;
  /// False when all bodies would be more than may be.
  bool growTo(size_t size);

private:
  const std::shared_ptr<HttpShared> shared;
  size_t bytes = 0;
};

/// An HttpExchange that posts to its connection.
class ConnectionExchange : public HttpExchange,
                           public std::enable_shared_from_this<ConnectionExchange> {
public:
  ConnectionExchange(std::shared_ptr<HttpConnection> to, std::shared_ptr<HttpShared> sharedState);
  ~ConnectionExchange() override;
  void respond(HttpResponse response) override;
  void beginStream(HttpResponse head) override;
  void write(std::string data) override;
  void endStream() override;
  void whenGone(std::function<void()> call) override;
  bool gone() const override { return left; }

  /// On the connection's thread: bytes have been taken; the client has left.
  void taken(size_t bytes) { queued -= bytes; }
  void leave();

  const uint64_t number;

private:
  const std::shared_ptr<HttpShared> shared;
  const std::shared_ptr<HttpConnection> connection;
  using Clock = std::chrono::steady_clock;
  bool tooSlow(size_t waiting);

  std::atomic<size_t> queued{0}; ///< bytes given to write() and not yet taken by the system
  std::atomic<bool> left{false};
  std::mutex mutex; ///< guards the rest
  std::function<void()> callback;
  size_t backlog = 0;        ///< what waited at `since`; 0: not more than may
  Clock::time_point since{}; ///< see streamPatience
};

/// read header → read body → handler → write → read header …; while a request is answered the
/// connection reads on, to notice a client that leaves. All methods run on the io_context's thread.
class HttpConnection : public std::enable_shared_from_this<HttpConnection> {
public:
  using Tcp = boost::asio::ip::tcp;
  using ErrorCodeOf = boost::system::error_code;

  HttpConnection(Tcp::socket connected, std::shared_ptr<HttpShared> sharedState);
  void start();
  /// Answers 503 and closes: too many connections.
  void refuse();
  void close();
  /// A connection between requests closes now, another behind its answer.
  void closeWhenIdle();

  // From the exchange `from`; ignored when it is no longer the current one.
  void respond(uint64_t from, HttpResponse response);
  void beginStream(uint64_t from, HttpResponse head);
  void write(uint64_t from, std::string data);
  void endStream(uint64_t from);
  void tooSlow(uint64_t from);
  void abandoned(uint64_t from);

private:
  using Parser = boost::beast::http::request_parser<boost::beast::http::string_body>;

  void awaitRequest();
  void readHeader();
  void headerRead(ErrorCodeOf error);
  const char *ambiguity() const;
  bool refuseEarly();
  void readBody();
  void bodyRead(ErrorCodeOf error);
  void unreadable(ErrorCodeOf error);
  void dispatch();
  HttpRequest headOf() const;
  HttpRequest takeRequest();
  void watch();
  void watched(ErrorCodeOf error, size_t bytes);
  void queue(std::string data);
  void refuseRequest(unsigned status, const std::string &reason);
  void hangUpWith(const HttpResponse &response);
  void writeSome();
  void written(ErrorCodeOf error, size_t bytes);
  void finished();
  void nextRequest();
  void linger();
  void arm(std::chrono::milliseconds time);
  void disarm();
  void armWrite();

  Tcp::socket socket;
  const std::shared_ptr<HttpShared> shared;
  boost::asio::steady_timer readTimer, writeTimer;
  boost::beast::flat_buffer buffer; ///< read and not yet parsed; at most a header, or read ahead
  std::optional<Parser> parser;
  std::shared_ptr<BodyShare> share; ///< of the request being read
  std::weak_ptr<ConnectionExchange> exchange;
  uint64_t current = 0;                      ///< number of the exchange being answered; 0: none
  std::string out, writing;                  ///< waiting, and in the hands of the system
  size_t writtenBytes = 0;                   ///< of `writing`
  size_t countedOut = 0, countedWriting = 0; ///< bytes of both that the exchange counts
  size_t lingered = 0;                       ///< bytes thrown away at the end
  uint64_t readWait = 0, writeWait = 0;      ///< numbers of the timers' latest waits
  bool timedOut = false, watching = false, writeActive = false, complete = false;
  bool keepAlive = true, chunked = false, headOnly = false, closed = false, lingering = false;
  bool idle = false; ///< waits for a request's first byte
};

} // namespace inf
