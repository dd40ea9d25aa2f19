#include "runtime/server/ApiError.h"

#include <algorithm>
#include <new>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "runtime/engine/CompletionService.h"

namespace inf {
namespace {

constexpr unsigned retrySeconds = 1;

ApiError ofRefusal(const Refusal &refusal) {
  switch (refusal.reason) {
  case RefusalReason::TooLong:
    return {400, "invalid_request_error", "context_length_exceeded", refusal.what()};
  case RefusalReason::Busy: {
    ApiError error(429, "rate_limit_error", "queue_full", refusal.what());
    error.retryAfter = retrySeconds;
    return error;
  }
  case RefusalReason::Closing: {
    ApiError error(503, "server_error", "shutting_down", refusal.what());
    error.retryAfter = retrySeconds;
    return error;
  }
  case RefusalReason::Invalid:
    break;
  }
  return {400, "invalid_request_error", "invalid_value", refusal.what()};
}

} // namespace

std::string dottedPath(std::string_view pointer) {
  std::string path;
  while (!pointer.empty()) {
    pointer.remove_prefix(1);
    const size_t end = std::min(pointer.find('/'), pointer.size());
    const std::string_view step = pointer.substr(0, end);
    const bool index =
        !step.empty() && step.find_first_not_of("0123456789") == std::string_view::npos;
    if (index)
      path += fmt::format("[{}]", step);
    else
      path += fmt::format("{}{}", path.empty() ? "" : ".", step);
    pointer.remove_prefix(end);
  }
  return path;
}

ApiError invalidField(std::string_view pointer, std::string_view code, std::string_view what) {
  return {400, "invalid_request_error", std::string(code),
          pointer.empty() ? fmt::format("The request body {}", what)
                          : fmt::format("'{}' {}", pointer, what),
          dottedPath(pointer)};
}

std::string errorBody(const ApiError &error) {
  nlohmann::ordered_json body;
  auto &object = body["error"];
  object["message"] = error.what();
  object["type"] = error.type;
  object["param"] = error.param.empty() ? nullptr : nlohmann::ordered_json(error.param);
  object["code"] = error.code.empty() ? nullptr : nlohmann::ordered_json(error.code);
  // Names that the client made up may be in the message; they need not be UTF-8.
  return body.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

HttpResponse errorResponse(const ApiError &error) {
  HttpResponse response;
  response.status = error.status;
  response.body = errorBody(error);
  response.fields = error.fields;
  if (error.retryAfter)
    response.fields.push_back({"Retry-After", std::to_string(*error.retryAfter)});
  return response;
}

ApiError apiErrorOf(const std::exception &thrown, std::string &details) {
  if (const auto *error = dynamic_cast<const ApiError *>(&thrown))
    return *error;
  if (const auto *refusal = dynamic_cast<const Refusal *>(&thrown))
    return ofRefusal(*refusal);
  details = thrown.what();
  if (dynamic_cast<const std::bad_alloc *>(&thrown))
    return {503, "server_error", "out_of_memory", "The server is out of memory; try again later."};
  return {500, "server_error", "internal_error", "The server failed; its log says why."};
}

} // namespace inf
