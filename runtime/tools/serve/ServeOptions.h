// Flags of `infrun serve`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/http/HttpServer.h"
#include "runtime/server/ApiOptions.h"
#include "runtime/tools/Arguments.h"
#include "runtime/tools/ModelOptions.h"
#include "runtime/tools/chat/ChatOptions.h"

namespace inf {

struct ServeOptions {
  ModelOptions model;
  ChatOptions chat;
  HttpServerOptions http;
  ApiOptions api;
  std::string name;    ///< "": the model's own
  std::string keyFile; ///< a key a line; "#" starts a comment
  std::string logFormat = "text";
  double requestTimeout = 0; ///< seconds; 0: none
  double drainSeconds = 30;
  double maxBodyMegabytes = 16;
  uint32_t sequences = 8, queue = 64;
  uint64_t context = 0;     ///< 0: the model's
  uint64_t kvMegabytes = 0; ///< 0: chosen
  double pace = 3;          ///< EngineOptions::paceFactor
  uint32_t stepTokens = 0;  ///< 0: what the model's plan holds
  bool noPrefixCache = false;
};

/// False when the user asked for help, which has then been printed. Reads the key file. Fails with
/// Usage for flags that can't work.
bool parseServeOptions(Arguments arguments, Output &out, ServeOptions &options);

} // namespace inf
