// How the API is served, and what its log gets to know of a request.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace inf {

/// One request, for a log: neither prompts nor answers.
struct RequestRecord {
  std::string id, method, path;
  unsigned status = 0; ///< 0: the client left before there was one
  bool clientLeft = false;
  double seconds = 0;
  uint64_t promptTokens = 0, cachedTokens = 0, generatedTokens = 0;
  double queuedSeconds = 0, firstTokenSeconds = 0;
  std::string error; ///< what the client was not told (status 500), or a warning
};

struct ApiOptions {
  std::vector<std::string> keys;        ///< none: everybody may ask
  std::vector<std::string> corsOrigins; ///< "*": any
  /// What web pages may call this server: "localhost", without a port. Besides, any address. None:
  /// no check. A page of another name that leads here (DNS rebinding) is refused with 403.
  std::vector<std::string> allowedHosts;
  /// Of an answer, from the moment its request had come; 0: none.
  std::chrono::milliseconds deadline{0};
  size_t waitingRequests = 256; ///< to be read and rendered; more are refused with 429
  /// Called from any thread, the engine's too, several calls at a time: must not block. What it
  /// throws is lost. No call comes once the service is drained, and the HttpServer and the
  /// ApiServer are gone.
  std::function<void(const RequestRecord &)> log;
};

} // namespace inf
