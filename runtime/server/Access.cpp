#include "runtime/server/Access.h"

#include <algorithm>

#include <fmt/format.h>

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

char lower(char c) { return c >= 'A' && c <= 'Z' ? char(c + 32) : c; }

/// Equal but for the case of letters.
bool sameText(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return lower(x) == lower(y); });
}

std::string_view bearerOf(std::string_view value) {
  if (!sameText(value.substr(0, scheme.size()), scheme))
    return {};
  return value.substr(scheme.size());
}

/// "localhost" for "localhost:8000", "[::1]" for "[::1]:8000".
std::string_view withoutPort(std::string_view host) {
  const size_t colon = host.rfind(':');
  const bool port = colon != host.npos && host.find(']', colon) == host.npos;
  return port ? host.substr(0, colon) : host;
}

/// A name that somebody else owns can lead anywhere; an address can't.
bool isAddress(std::string_view host) {
  const bool four = !host.empty() && host.find_first_not_of("0123456789.") == host.npos;
  return four || host.starts_with('[');
}

bool contains(const std::vector<std::string> &list, std::string_view value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

} // namespace

void expectHost(const HttpRequest &request, const ApiOptions &options) {
  const std::string_view origin = request.field("origin");
  const bool page = !origin.empty() || !request.field("sec-fetch-site").empty();
  if (!page || options.allowedHosts.empty() || contains(options.allowedHosts, "*") ||
      contains(options.corsOrigins, "*") || contains(options.corsOrigins, origin))
    return;
  const std::string_view host = withoutPort(request.field("host"));
  const auto same = [host](const std::string &allowed) { return sameText(allowed, host); };
  if (!isAddress(host) &&
      std::none_of(options.allowedHosts.begin(), options.allowedHosts.end(), same))
    throw ApiError(403, "invalid_request_error", "host_not_allowed",
                   fmt::format("A web page asked for '{}', which is no name of this server; "
                               "--allowed-host adds one.",
                               host.substr(0, 64)));
}

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
