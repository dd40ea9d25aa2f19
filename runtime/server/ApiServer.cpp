#include "runtime/server/ApiServer.h"

#include <mutex>
#include <optional>

#include <fmt/format.h>

#include "runtime/server/Access.h"
#include "runtime/server/Endpoints.h"
#include "runtime/server/Metrics.h"
#include "runtime/server/Routes.h"
#include "runtime/server/WorkQueue.h"

namespace inf {
namespace {

constexpr unsigned retrySeconds = 1;

ApiError unavailable(unsigned status, std::string_view code, const char *message) {
  ApiError error(status, status == 429 ? "rate_limit_error" : "server_error", std::string(code),
                 message);
  error.retryAfter = retrySeconds;
  return error;
}

} // namespace

class ApiServer::Impl {
public:
  Impl(const ServedModel &servedModel, ApiOptions apiOptions)
      : model(servedModel), options(std::move(apiOptions)), queue(options.waitingRequests) {}

  void handle(HttpRequest request, std::shared_ptr<HttpExchange> exchange);
  std::optional<HttpResponse> refuse(const HttpRequest &head);
  /// Of an answer without an exchange: the response that says so, with the fields of every
  /// response.
  HttpResponse answerWithout(const HttpRequest &head, HttpResponse response,
                             const std::string &error);

  const ServedModel model;
  const ApiOptions options;
  std::shared_ptr<RequestLog> requests = std::make_shared<RequestLog>(options.log);
  std::atomic<bool> draining{false};
  std::mutex mutex; ///< guards the next
  std::function<HttpCounters()> httpCounters;
  std::atomic<uint64_t> refusedFull{0}; ///< by our own queue

private:
  using Exchange = std::shared_ptr<ObservedExchange>;

  Exchange observe(const HttpRequest &request, std::shared_ptr<HttpExchange> exchange);
  struct Admitted {
    const Route &route;
    uint64_t tenant;
  };

  RequestRecord recordOf(const HttpRequest &request);
  std::vector<HttpField> fieldsFor(const HttpRequest &request, const RequestRecord &record) const;
  void route(HttpRequest request, const Exchange &exchange);
  std::optional<HttpResponse> answerItself(const HttpRequest &request);
  Admitted admit(const HttpRequest &request) const;
  void run(const Admitted &admitted, HttpRequest request, const Exchange &exchange);
  HttpResponse health(bool ready) const;
  HttpResponse metrics();
  static void perform(const Route &route, ApiCall &call);
  static void answerError(const std::exception &thrown, ObservedExchange &exchange);

  WorkQueue queue; ///< last: its thread uses all above
};

void ApiServer::Impl::answerError(const std::exception &thrown, ObservedExchange &exchange) {
  std::string details;
  const ApiError error = apiErrorOf(thrown, details);
  if (!details.empty())
    exchange.noteError(details);
  exchange.respond(errorResponse(error));
}

RequestRecord ApiServer::Impl::recordOf(const HttpRequest &request) {
  RequestRecord record;
  record.id = requests->nextId();
  record.method = request.method;
  record.path = request.path;
  return record;
}

std::vector<HttpField> ApiServer::Impl::fieldsFor(const HttpRequest &request,
                                                  const RequestRecord &record) const {
  std::vector<HttpField> fields = corsFields(request, options.corsOrigins);
  fields.push_back({"x-request-id", record.id});
  return fields;
}

std::shared_ptr<ObservedExchange> ApiServer::Impl::observe(const HttpRequest &request,
                                                           std::shared_ptr<HttpExchange> exchange) {
  RequestRecord record = recordOf(request);
  std::vector<HttpField> fields = fieldsFor(request, record);
  return std::make_shared<ObservedExchange>(
      std::move(exchange), std::move(record), std::move(fields),
      [log = requests](const RequestRecord &done) { log->add(done); });
}

HttpResponse ApiServer::Impl::answerWithout(const HttpRequest &head, HttpResponse response,
                                            const std::string &error) {
  RequestRecord record = recordOf(head);
  record.status = response.status;
  record.error = error;
  const std::vector<HttpField> fields = fieldsFor(head, record);
  response.fields.insert(response.fields.end(), fields.begin(), fields.end());
  requests->add(record);
  return response;
}

std::optional<HttpResponse> ApiServer::Impl::refuse(const HttpRequest &head) {
  try {
    if (std::optional<HttpResponse> own = answerItself(head))
      return answerWithout(head, std::move(*own), "");
    admit(head);
    return std::nullopt;
  } catch (const ApiError &error) {
    return answerWithout(head, errorResponse(error), "");
  }
}

void ApiServer::Impl::handle(HttpRequest request, std::shared_ptr<HttpExchange> exchange) {
  const Exchange observed = observe(request, std::move(exchange));
  try {
    route(std::move(request), observed);
  } catch (const std::exception &thrown) {
    answerError(thrown, *observed);
  }
}

HttpResponse ApiServer::Impl::health(bool ready) const {
  HttpResponse response;
  response.status = ready ? 200 : 503;
  response.body = ready ? R"({"status":"ok"})" : R"({"status":"draining"})";
  return response;
}

HttpResponse ApiServer::Impl::metrics() {
  std::unique_lock lock(mutex);
  const HttpCounters counters = httpCounters ? httpCounters() : HttpCounters{};
  lock.unlock();
  HttpResponse response;
  response.contentType = "text/plain; version=0.0.4; charset=utf-8";
  response.body = prometheusText(model, counters, requests->counts(), refusedFull);
  return response;
}

/// Paths that need neither the model nor a thread.
std::optional<HttpResponse> ApiServer::Impl::answerItself(const HttpRequest &request) {
  expectHost(request, options);
  if (request.method == "OPTIONS" && !request.field("access-control-request-method").empty())
    return preflight(request);
  const bool open = isOpen(request.path);
  if (!open && request.path != "/metrics")
    return std::nullopt;
  if (request.method != "GET" && request.method != "HEAD") {
    ApiError error(405, "invalid_request_error", "method_not_allowed",
                   fmt::format("{} expects GET.", request.path));
    error.fields.push_back({"Allow", "GET"});
    throw error;
  }
  if (!open)
    authorize(request, options.keys);
  return open ? health(request.path == "/health/live" || !draining) : metrics();
}

/// Who asks for what, known before the body is.
ApiServer::Impl::Admitted ApiServer::Impl::admit(const HttpRequest &request) const {
  const Route &route = findRoute(request);
  const uint64_t tenant = authorize(request, options.keys);
  if (route.work && draining)
    throw unavailable(503, "shutting_down", "The server is shutting down; ask another one.");
  if (route.work && !request.field("content-type").starts_with("application/json"))
    throw ApiError(415, "invalid_request_error", "unsupported_media_type",
                   "The request body has another content type; expected application/json.");
  return {route, tenant};
}

void ApiServer::Impl::route(HttpRequest request, const Exchange &exchange) {
  if (std::optional<HttpResponse> own = answerItself(request))
    return exchange->respond(std::move(*own));
  const Admitted admitted = admit(request);
  run(admitted, std::move(request), exchange);
}

void ApiServer::Impl::perform(const Route &route, ApiCall &call) {
  try {
    if (call.exchange->gone())
      return;
    if (call.options.deadline.count() > 0 && call.timeLeft().count() == 0)
      throw ApiError(504, "server_error", "deadline_exceeded",
                     "The request waited for the whole of the server's time limit.");
    route.endpoint(call);
  } catch (const std::exception &thrown) {
    answerError(thrown, *call.exchange);
  }
}

void ApiServer::Impl::run(const Admitted &admitted, HttpRequest request, const Exchange &exchange) {
  const Route &route = admitted.route;
  std::string argument = argumentOf(route, request.path);
  auto call = std::make_shared<ApiCall>(
      ApiCall{std::move(request), exchange, admitted.tenant, std::move(argument), model, options});
  if (!route.work)
    return perform(route, *call);
  if (queue.add([&route, call = std::move(call)] { perform(route, *call); }))
    return;
  ++refusedFull;
  throw unavailable(429, "queue_full", "Too many requests wait to be read; try again later.");
}

ApiServer::ApiServer(const ServedModel &servedModel, ApiOptions apiOptions)
    : impl(std::make_shared<Impl>(servedModel, std::move(apiOptions))) {}
ApiServer::~ApiServer() = default;

void ApiServer::handle(HttpRequest request, std::shared_ptr<HttpExchange> exchange) {
  impl->handle(std::move(request), std::move(exchange));
}

std::optional<HttpResponse> ApiServer::refuse(const HttpRequest &head) {
  return impl->refuse(head);
}

HttpResponse ApiServer::unreadable(unsigned status, const std::string &reason,
                                   const HttpRequest &head) {
  const char *code = status == 408   ? "request_timeout"
                     : status == 413 ? "request_too_large"
                     : status == 431 ? "header_too_large"
                     : status == 503 ? (head.method.empty() ? "too_many_connections" : "overloaded")
                     : status == 500 ? "internal_error"
                                     : "malformed_request";
  ApiError error(status, status >= 500 ? "server_error" : "invalid_request_error", code,
                 fmt::format("The request could not be read: {}.", reason));
  if (status == 503)
    error.retryAfter = retrySeconds;
  return impl->answerWithout(head, errorResponse(error), reason);
}

void ApiServer::startDraining() { impl->draining = true; }

void ApiServer::setHttpCounters(std::function<HttpCounters()> counters) {
  std::lock_guard lock(impl->mutex);
  impl->httpCounters = std::move(counters);
}

} // namespace inf
