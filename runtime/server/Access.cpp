#include "runtime/server/Access.h"

#include <algorithm>

#include "runtime/server/ApiError.h"

namespace inf {
namespace {

constexpr std::string_view scheme = "bearer ";

/// Looks at every byte of both, whatever they are.
bool sameSecret(std::string_view given, std::string_view key) {
  unsigned differences = given.size() == key.size() ? 0 : 1;
  for (size_t i = 0; i < given.size(); ++i)
    differences |= static_cast<unsigned char>(given[i] ^ key[i % key.size()]);
  return differences == 0;
}

std::string_view bearerOf(std::string_view value) {
  if (value.size() < scheme.size() ||
      !std::equal(scheme.begin(), scheme.end(), value.begin(),
                  [](char a, char b) { return a == (b >= 'A' && b <= 'Z' ? b + 32 : b); }))
    return {};
  return value.substr(scheme.size());
}

} // namespace

uint64_t authorize(const HttpRequest &request, const std::vector<std::string> &keys) {
  if (keys.empty())
    return 0;
  const std::string_view given = bearerOf(request.field("authorization"));
  uint64_t found = 0;
  for (size_t i = 0; i < keys.size(); ++i)
    found = sameSecret(given, keys[i]) ? i + 1 : found;
  if (found != 0)
    return found;
  ApiError error(401, "authentication_error", "invalid_api_key",
                 given.empty() ? "No API key was given; expected 'Authorization: Bearer KEY'."
                               : "The API key is not one of this server's.");
  error.fields.push_back({"WWW-Authenticate", "Bearer"});
  throw error;
}

std::vector<HttpField> corsFields(const HttpRequest &request,
                                  const std::vector<std::string> &origins) {
  const std::string_view origin = request.field("origin");
  const bool any = std::find(origins.begin(), origins.end(), "*") != origins.end();
  if (origin.empty() ||
      (!any && std::find(origins.begin(), origins.end(), origin) == origins.end()))
    return {};
  return {{"Access-Control-Allow-Origin", any ? "*" : std::string(origin)},
          {"Access-Control-Expose-Headers", "x-request-id, retry-after, x-inf-warning"},
          {"Vary", "Origin"}};
}

HttpResponse preflight(const HttpRequest &request) {
  HttpResponse response;
  response.status = 204;
  response.contentType.clear();
  response.fields = {{"Access-Control-Allow-Methods", "GET, POST, OPTIONS"},
                     {"Access-Control-Max-Age", "600"}};
  const std::string_view wanted = request.field("access-control-request-headers");
  if (!wanted.empty())
    response.fields.push_back({"Access-Control-Allow-Headers", std::string(wanted)});
  return response;
}

} // namespace inf
