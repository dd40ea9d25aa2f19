// The API: which path is answered by what, who may ask, and what is said when it can't be done.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "runtime/http/HttpServer.h"
#include "runtime/server/ApiOptions.h"
#include "runtime/server/ServedModel.h"

namespace inf {

class ApiServer : public HttpHandler {
public:
  ApiServer(const ServedModel &servedModel, ApiOptions apiOptions);
  ~ApiServer() override;

  void handle(HttpRequest request, std::shared_ptr<HttpExchange> exchange) override;
  std::optional<HttpResponse> refuse(const HttpRequest &head) override;
  HttpResponse unreadable(unsigned status, const std::string &reason,
                          const HttpRequest &head) override;

  /// From now on new work is refused with 503; health says so, metrics go on.
  void startDraining();
  /// Shown in /metrics; called from any thread.
  void setHttpCounters(std::function<HttpCounters()> counters);

private:
  class Impl;
  std::shared_ptr<Impl> impl;
};

} // namespace inf
