#include "runtime/server/ApiServer.h"

#include <algorithm>
#include <mutex>
#include <random>
#include <span>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/server/Access.h"
#include "runtime/server/Endpoints.h"
#include "runtime/server/Metrics.h"
#include "runtime/server/WorkQueue.h"

namespace inf {
namespace {

using Endpoint = void (*)(ApiCall &);

struct Route {
  std::string_view method, path;
  Endpoint endpoint;
  bool work; ///< reads a body and may take long: not on the thread of input and output
  bool prefix = false;
};

constexpr Route routes[] = {
    {"POST", "/v1/chat/completions", chatEndpoint, true},
    {"POST", "/v1/completions", completionsEndpoint, true},
    {"POST", "/v1/responses", responsesEndpoint, true},
    {"GET", "/v1/models", modelsEndpoint, false},
    {"GET", "/v1/models/", modelEndpoint, false, true},
    {"POST", "/tokenize", tokenizeEndpoint, true},
    {"POST", "/detokenize", detokenizeEndpoint, true},
};
constexpr std::string_view openPaths[] = {"/health", "/health/live", "/health/ready"};
constexpr unsigned retrySeconds = 1;

bool matches(const Route &route, std::string_view path) {
  return route.prefix ? path.starts_with(route.path) && path.size() > route.path.size()
                      : path == route.path;
}

/// Percent-encoding undone (RFC 3986, section 2.1); what is no encoding stays as it is.
std::string decoded(std::string_view text) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    const size_t high = i + 2 < text.size() ? digits.find(char(text[i + 1] | 0x20)) : text.npos;
    const size_t low = i + 2 < text.size() ? digits.find(char(text[i + 2] | 0x20)) : text.npos;
    const bool code = text[i] == '%' && high != text.npos && low != text.npos;
    result += code ? char(high * 16 + low) : text[i];
    i += code ? 2 : 0;
  }
  return result;
}

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

  const ServedModel model;
  const ApiOptions options;
  std::shared_ptr<RequestLog> requests = std::make_shared<RequestLog>(options.log);
  std::atomic<bool> draining{false};
  std::mutex mutex; ///< guards the next
  std::function<HttpCounters()> httpCounters;

private:
  using Exchange = std::shared_ptr<ObservedExchange>;

  Exchange observe(const HttpRequest &request, std::shared_ptr<HttpExchange> exchange);
  void route(HttpRequest request, const Exchange &exchange);
  bool answerItself(const HttpRequest &request, const Exchange &exchange);
  const Route &find(const HttpRequest &request) const;
  void run(const Route &route, HttpRequest request, const Exchange &exchange, uint64_t tenant);
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

std::shared_ptr<ObservedExchange> ApiServer::Impl::observe(const HttpRequest &request,
                                                           std::shared_ptr<HttpExchange> exchange) {
  RequestRecord record;
  record.id = requests->nextId();
  record.method = request.method;
  record.path = request.path;
  std::vector<HttpField> fields = corsFields(request, options.corsOrigins);
  fields.push_back({"x-request-id", record.id});
  return std::make_shared<ObservedExchange>(
      std::move(exchange), std::move(record), std::move(fields),
      [log = requests](const RequestRecord &done) { log->add(done); });
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
  response.body = prometheusText(model, counters, requests->counts());
  return response;
}

/// Paths that need neither the model nor a thread.
bool ApiServer::Impl::answerItself(const HttpRequest &request, const Exchange &exchange) {
  if (request.method == "OPTIONS" && !request.field("access-control-request-method").empty()) {
    exchange->respond(preflight(request));
    return true;
  }
  const bool open =
      std::find(std::begin(openPaths), std::end(openPaths), request.path) != std::end(openPaths);
  if (!open && request.path != "/metrics")
    return false;
  if (request.method != "GET" && request.method != "HEAD") {
    ApiError error(405, "invalid_request_error", "method_not_allowed",
                   fmt::format("{} expects GET.", request.path));
    error.fields.push_back({"Allow", "GET"});
    throw error;
  }
  if (!open)
    authorize(request, options.keys);
  exchange->respond(open ? health(request.path == "/health/live" || !draining) : metrics());
  return true;
}

const Route &ApiServer::Impl::find(const HttpRequest &request) const {
  std::vector<std::string_view> allowed;
  for (const Route &route : routes) {
    if (!matches(route, request.path))
      continue;
    if (route.method == request.method)
      return route;
    allowed.push_back(route.method);
  }
  if (allowed.empty())
    throw ApiError(404, "invalid_request_error", "unknown_url",
                   fmt::format("There is no {} {}.", request.method, request.path.substr(0, 128)));
  ApiError error(
      405, "invalid_request_error", "method_not_allowed",
      fmt::format("{} expects {}.", request.path.substr(0, 128), fmt::join(allowed, ", ")));
  error.fields.push_back({"Allow", fmt::format("{}", fmt::join(allowed, ", "))});
  throw error;
}

void ApiServer::Impl::route(HttpRequest request, const Exchange &exchange) {
  if (answerItself(request, exchange))
    return;
  const Route &route = find(request);
  const uint64_t tenant = authorize(request, options.keys);
  if (route.work && draining)
    throw unavailable(503, "shutting_down", "The server is shutting down; ask another one.");
  if (route.work && !request.field("content-type").starts_with("application/json"))
    throw ApiError(415, "invalid_request_error", "unsupported_media_type",
                   "The request body has another content type; expected application/json.");
  run(route, std::move(request), exchange, tenant);
}

void ApiServer::Impl::perform(const Route &route, ApiCall &call) {
  try {
    if (!call.exchange->gone())
      route.endpoint(call);
  } catch (const std::exception &thrown) {
    answerError(thrown, *call.exchange);
  }
}

void ApiServer::Impl::run(const Route &route, HttpRequest request, const Exchange &exchange,
                          uint64_t tenant) {
  std::string argument = route.prefix ? decoded(request.path.substr(route.path.size())) : "";
  auto call = std::make_shared<ApiCall>(
      ApiCall{std::move(request), exchange, tenant, std::move(argument), model, options});
  if (!route.work)
    return perform(route, *call);
  if (!queue.add([&route, call = std::move(call)] { perform(route, *call); }))
    throw unavailable(429, "queue_full", "Too many requests wait to be read; try again later.");
}

ApiServer::ApiServer(const ServedModel &servedModel, ApiOptions apiOptions)
    : impl(std::make_shared<Impl>(servedModel, std::move(apiOptions))) {}
ApiServer::~ApiServer() = default;

void ApiServer::handle(HttpRequest request, std::shared_ptr<HttpExchange> exchange) {
  impl->handle(std::move(request), std::move(exchange));
}

HttpResponse ApiServer::unreadable(unsigned status, const std::string &reason) {
  RequestRecord record;
  record.status = status;
  record.error = reason;
  impl->requests->add(record);
  const char *code = status == 408   ? "request_timeout"
                     : status == 413 ? "request_too_large"
                     : status == 431 ? "header_too_large"
                     : status == 503 ? "too_many_connections"
                     : status == 500 ? "internal_error"
                                     : "malformed_request";
  ApiError error(status, status >= 500 ? "server_error" : "invalid_request_error", code,
                 fmt::format("The request could not be read: {}.", reason));
  if (status == 503)
    error.retryAfter = retrySeconds;
  return errorResponse(error);
}

void ApiServer::startDraining() { impl->draining = true; }

void ApiServer::setHttpCounters(std::function<HttpCounters()> counters) {
  std::lock_guard lock(impl->mutex);
  impl->httpCounters = std::move(counters);
}

} // namespace inf
