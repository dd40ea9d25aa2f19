// What answers each path. All of them throw ApiError for what can't be done, and Refusal when the
// service refuses; they return at once, the answer comes later.
#pragma once

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>

#include "runtime/server/ApiServer.h"
#include "runtime/server/ObservedExchange.h"
#include "runtime/server/ServedModel.h"

namespace inf {

struct ApiCall {
  HttpRequest request;
  std::shared_ptr<ObservedExchange> exchange;
  uint64_t tenant = 0;  ///< the number of its API key
  std::string argument; ///< what follows the route's path: the model's id
  const ServedModel &model;
  const ApiOptions &options;

  /// Of the deadline, which counts from the request's arrival; 0: none is left.
  std::chrono::milliseconds timeLeft() const {
    return std::max(std::chrono::milliseconds(0), options.deadline - exchange->age());
  }
};

void modelsEndpoint(ApiCall &call);
void modelEndpoint(ApiCall &call);
void tokenizeEndpoint(ApiCall &call);
void detokenizeEndpoint(ApiCall &call);
void completionsEndpoint(ApiCall &call);
void chatEndpoint(ApiCall &call);
void responsesEndpoint(ApiCall &call);

} // namespace inf
