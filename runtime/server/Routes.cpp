#include "runtime/server/Routes.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/server/ApiError.h"

namespace inf {
namespace {

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

} // namespace

const Route &findRoute(const HttpRequest &request) {
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

std::string argumentOf(const Route &route, std::string_view path) {
  return route.prefix ? decoded(path.substr(route.path.size())) : "";
}

bool isOpen(std::string_view path) {
  return std::find(std::begin(openPaths), std::end(openPaths), path) != std::end(openPaths);
}

} // namespace inf
