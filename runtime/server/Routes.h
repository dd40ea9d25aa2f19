// Which path is answered by what.
#pragma once

#include <string>
#include <string_view>

#include "runtime/server/Endpoints.h"

namespace inf {

struct Route {
  std::string_view method, path;
  void (*endpoint)(ApiCall &);
  bool work; ///< reads a body and may take long: not on the thread of input and output
  bool prefix = false;
};

/// Fails with ApiError 404, or 405 with the methods that the path has.
const Route &findRoute(const HttpRequest &request);

/// What follows a prefix's path, its percent-encoding undone; "" for other routes.
std::string argumentOf(const Route &route, std::string_view path);

/// Whether everybody may ask for it: the states of health.
bool isOpen(std::string_view path);

} // namespace inf
