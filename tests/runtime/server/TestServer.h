// A whole server over real sockets, on a scripted service.
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "runtime/http/HttpServer.h"
#include "runtime/server/ApiServer.h"
#include "tests/runtime/server/HttpClient.h"
#include "tests/runtime/server/ScriptedChat.h"
#include "tests/runtime/server/ScriptedService.h"

namespace inf::test {

/// The tokenizer of models/gpt-oss-tiny.
const Tokenizer &smallTokenizer();

struct TestServerOptions {
  ServiceLimits limits{uint32_t(smallTokenizer().vocabularySize()), 512, 64, 64, 512};
  ApiOptions api;
  HttpServerOptions http;
  bool chat = true;
  const Tokenizer *tokenizer = &smallTokenizer();
  const ChatFormat *chatFormat = nullptr; ///< null: ScriptedChat
};

class TestServer {
public:
  explicit TestServer(TestServerOptions options = {});
  ~TestServer();

  uint16_t port() const { return http->port(); }
  /// All requests from now on get this text, special tokens by name, and `rest` of the script.
  void script(std::string_view text, Script rest = {});
  ClientResponse get(std::string_view path, std::string_view fields = "");
  ClientResponse post(std::string_view path, const nlohmann::json &body,
                      std::string_view fields = "");
  /// The body of a 200; records a failure otherwise.
  nlohmann::json json(std::string_view path, const nlohmann::json &body);
  std::vector<RequestRecord> log() const;

  ScriptedChat format;
  ScriptedService service;

private:
  mutable std::mutex mutex;
  std::vector<RequestRecord> records; ///< guarded by mutex

public:
  std::unique_ptr<ApiServer> api;
  std::unique_ptr<HttpServer> http;
};

} // namespace inf::test
