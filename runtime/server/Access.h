// Who may ask: API keys, and which web pages.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/http/HttpMessage.h"
#include "runtime/server/ApiOptions.h"

namespace inf {

/// The number of the key that the request carries as "Authorization: Bearer KEY", counted from 1;
/// 0 when there are no keys. Fails with ApiError 401. The time taken does not depend on which bytes
/// of a key are right.
uint64_t authorize(const HttpRequest &request, const std::vector<std::string> &keys);

/// Fails with ApiError 403 for a request of a web page to a host that is neither an address nor one
/// of ApiOptions::allowedHosts, if there are any; pages of corsOrigins may use any name. Programs
/// that are no browsers send no Origin and are not checked.
void expectHost(const HttpRequest &request, const ApiOptions &options);

/// The fields that let a page of the request's Origin read the response; none for others.
std::vector<HttpField> corsFields(const HttpRequest &request,
                                  const std::vector<std::string> &origins);

/// The response to a browser's question before the request (OPTIONS).
HttpResponse preflight(const HttpRequest &request);

} // namespace inf
