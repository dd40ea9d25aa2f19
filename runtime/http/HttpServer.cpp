#include "runtime/http/HttpServer.h"

#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include <boost/asio/executor_work_guard.hpp>

#include "runtime/base/Error.h"
#include "runtime/http/HttpConnection.h"

namespace inf {

namespace asio = boost::asio;
using Tcp = asio::ip::tcp;
using AsioError = boost::system::error_code;

class HttpServer::Impl {
public:
  Impl(const HttpServerOptions &options, HttpHandler &handler)
      : shared(std::make_shared<HttpShared>(options, handler)), acceptor(shared->context),
        retryTimer(shared->context), guard(shared->context.get_executor()) {
    listen();
    accept();
    thread = std::thread([this] { shared->context.run(); });
  }

  ~Impl() { stop(std::chrono::milliseconds(0)); }

  uint16_t port() const { return boundPort; }

  HttpCounters counters() const {
    return {shared->accepted, shared->refused, shared->open,
            shared->requests, shared->gone,    shared->slowReaders};
  }

  void stop(std::chrono::milliseconds patience) {
    if (!thread.joinable())
      return;
    shared->post([this] { closeIdle(); });
    const auto end = std::chrono::steady_clock::now() + patience;
    while (shared->open > 0 && std::chrono::steady_clock::now() < end)
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    shared->post([this] { closeAll(); });
    {
      std::lock_guard lock(shared->mutex);
      shared->stopped = true;
    }
    guard.reset();
    thread.join();
  }

private:
  void listen() {
    AsioError error;
    const asio::ip::address address = asio::ip::make_address(shared->options.host, error);
    if (error)
      fail(ErrorCode::Usage, "'{}' is no address; expected one such as 127.0.0.1, 0.0.0.0 or ::1.",
           shared->options.host);
    const Tcp::endpoint endpoint(address, shared->options.port);
    acceptor.open(endpoint.protocol(), error);
    if (!error)
      acceptor.set_option(Tcp::acceptor::reuse_address(true), error);
    if (!error)
      acceptor.bind(endpoint, error);
    if (!error)
      acceptor.listen(asio::socket_base::max_listen_connections, error);
    if (error)
      fail(ErrorCode::Io, "cannot listen on {} port {}: {}. Choose another --host or --port.",
           shared->options.host, shared->options.port, error.message());
    boundPort = acceptor.local_endpoint(error).port();
  }

  void accept() {
    acceptor.async_accept([this](AsioError error, Tcp::socket socket) {
      if (shared->stopping || !acceptor.is_open())
        return;
      if (error)
        return acceptLater(); // out of descriptors, or a client that left in the queue
      admit(std::move(socket));
      accept();
    });
  }

  void acceptLater() {
    retryTimer.expires_after(std::chrono::milliseconds(50));
    retryTimer.async_wait([this](AsioError error) {
      if (!error)
        accept();
    });
  }

  void admit(Tcp::socket socket) {
    auto connection = std::make_shared<HttpConnection>(std::move(socket), shared);
    const bool full = shared->connections.size() >= shared->options.connections;
    shared->connections.insert(connection);
    ++shared->open;
    ++(full ? shared->refused : shared->accepted);
    full ? connection->refuse() : connection->start();
  }

  std::vector<std::shared_ptr<HttpConnection>> all() const {
    return {shared->connections.begin(), shared->connections.end()};
  }

  void closeIdle() {
    AsioError ignored;
    shared->stopping = true;
    acceptor.close(ignored);
    retryTimer.cancel();
    for (const auto &connection : all())
      connection->closeWhenIdle();
  }

  void closeAll() {
    for (const auto &connection : all())
      connection->close();
  }

  std::shared_ptr<HttpShared> shared;
  Tcp::acceptor acceptor;
  asio::steady_timer retryTimer;
  asio::executor_work_guard<asio::io_context::executor_type> guard;
  uint16_t boundPort = 0;
  std::thread thread;
};

HttpServer::HttpServer(const HttpServerOptions &options, HttpHandler &handler)
    : impl(std::make_unique<Impl>(options, handler)) {}
HttpServer::~HttpServer() = default;
uint16_t HttpServer::port() const { return impl->port(); }
HttpCounters HttpServer::counters() const { return impl->counters(); }
void HttpServer::stop(std::chrono::milliseconds patience) { impl->stop(patience); }

} // namespace inf
