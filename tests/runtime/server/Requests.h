// Requests that tests begin from, and what became of their prompts.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "tests/runtime/server/TestServer.h"

namespace inf::test {

/// To /v1/completions: 400 tokens.
inline const nlohmann::json plainRequest = {
    {"model", "tiny"}, {"prompt", "a"}, {"max_tokens", 400}};

/// To /v1/chat/completions; `more` replaces what it names.
inline nlohmann::json chatRequest(const nlohmann::json &more = nlohmann::json::object()) {
  nlohmann::json body = {{"model", "tiny"},
                         {"messages", {{{"role", "user"}, {"content", "Hello"}}}},
                         {"max_tokens", 200}};
  body.update(more);
  return body;
}

/// To /v1/responses.
inline nlohmann::json responseRequest(const nlohmann::json &more = nlohmann::json::object()) {
  nlohmann::json body = {{"model", "tiny"}, {"input", "Hello"}};
  body.update(more);
  return body;
}

/// The prompt that request number `request` gave the service.
inline std::string promptText(const TestServer &server, size_t request = 0) {
  return smallTokenizer().decode(server.service.requests().at(request).prompt);
}

} // namespace inf::test
