// HTTP/1.1 over TCP: requests in, responses or streams out. One thread does all input and output.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "runtime/http/HttpMessage.h"

namespace inf {

/// Where the answer to one request goes: one respond(), or one beginStream(), any number of
/// write() and one endStream(). Every method may be called from any thread, returns at once and
/// throws nothing; calls that come too late (the client is gone, the answer is complete) do
/// nothing. An exchange that is dropped unanswered closes its connection.
class HttpExchange {
public:
  virtual ~HttpExchange() = default;
  virtual void respond(HttpResponse response) = 0;
  /// Sends the head; its body is not used.
  virtual void beginStream(HttpResponse head) = 0;
  /// When what waits for a slow reader stays above HttpServerOptions::streamBytes without shrinking
  /// for streamPatience, or is above streamMostBytes, the connection is closed and the client
  /// counts as gone. `data` itself does not count yet: one large piece is no slow reader.
  virtual void write(std::string data) = 0;
  virtual void endStream() = 0;
  /// `callback` is called once, on the thread of input and output, if the client leaves before the
  /// answer is complete; at once when it has left already. It must not block.
  virtual void whenGone(std::function<void()> callback) = 0;
  virtual bool gone() const = 0;
};

class HttpHandler {
public:
  virtual ~HttpHandler() = default;
  /// Called on the thread of input and output; must not block. Throwing gives status 500.
  virtual void handle(HttpRequest request, std::shared_ptr<HttpExchange> exchange) = 0;
  /// Called when the header of a request with a body has come: a response that needs no body (no
  /// key, no such path). The body is not read then and the connection ends. Likewise.
  virtual std::optional<HttpResponse> refuse(const HttpRequest &head) = 0;
  /// The response to a request that could not be read: 400, 408, 413, 431, 500 or 503; `head` has
  /// what was understood of it, perhaps nothing.
  virtual HttpResponse unreadable(unsigned status, const std::string &reason,
                                  const HttpRequest &head) = 0;
};

struct HttpServerOptions {
  std::string host = "127.0.0.1"; ///< an address, not a name
  uint16_t port = 8000;           ///< 0: any free one
  size_t headerBytes = 32 << 10;
  size_t bodyBytes = 16 << 20;
  size_t allBodiesBytes = 256 << 20; ///< of all requests together; beyond: 503
  size_t streamBytes = 1 << 20;      ///< waiting for a reader that is slower than the model
  size_t streamMostBytes = 64 << 20; ///< the same at once, however short
  std::chrono::milliseconds streamPatience{5'000};
  size_t connections = 1024;       ///< one more is answered with 503
  size_t pipelineBytes = 64 << 10; ///< read ahead while a request is answered
  std::chrono::milliseconds headerTimeout{
      10'000}; ///< from a request's first byte to its header's end
  std::chrono::milliseconds bodyTimeout{60'000};
  std::chrono::milliseconds idleTimeout{75'000};  ///< between requests
  std::chrono::milliseconds writeTimeout{30'000}; ///< without a byte taken by the reader
};

/// Since start, or now.
struct HttpCounters {
  uint64_t accepted = 0, refused = 0, open = 0, requests = 0, gone = 0, slowReaders = 0;
};

class HttpServer {
public:
  /// Listens and answers from now on. `handler` must outlive the server. Fails with Usage for a
  /// bad address, with Io when it can't listen there (port taken).
  HttpServer(const HttpServerOptions &options, HttpHandler &handler);
  /// stop() without patience.
  ~HttpServer();
  HttpServer(const HttpServer &) = delete;
  HttpServer &operator=(const HttpServer &) = delete;

  uint16_t port() const;
  HttpCounters counters() const;
  /// No new connections; idle ones are closed; those that answer may finish until `patience` is
  /// over. Returns when none is left. Later calls do nothing.
  void stop(std::chrono::milliseconds patience);

private:
  class Impl;
  std::unique_ptr<Impl> impl;
};

} // namespace inf
