#include "tests/runtime/server/TestServer.h"

#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

namespace inf::test {

const Tokenizer &smallTokenizer() {
  static const Tokenizer tokenizer = [] {
    std::ifstream file(INF_SOURCE_DIR "/models/gpt-oss-tiny/tokenizer.json");
    std::stringstream text;
    text << file.rdbuf();
    return Tokenizer::fromJson(text.str());
  }();
  return tokenizer;
}

TestServer::TestServer(TestServerOptions options)
    : format(*options.tokenizer),
      service(options.limits, [](const CompletionRequest &) { return Script{}; }) {
  options.api.log = [this, also = options.api.log](const RequestRecord &record) {
    {
      std::lock_guard lock(mutex);
      records.push_back(record);
    }
    if (also)
      also(record);
  };
  options.http.port = 0;
  const ChatFormat *chat = options.chatFormat ? options.chatFormat : &format;
  api = std::make_unique<ApiServer>(ServedModel{"tiny", "b17d", 1700000000, *options.tokenizer,
                                                options.chat ? chat : nullptr, service},
                                    options.api);
  http = std::make_unique<HttpServer>(options.http, *api);
  api->setHttpCounters([this] { return http->counters(); });
  if (options.tokenizer == &smallTokenizer()) // others need not know the words
    script("ok<|return|>");
}

TestServer::~TestServer() {
  http->stop(std::chrono::milliseconds(0));
  service.drain(std::chrono::milliseconds(0));
  api.reset(); // its log is ours
}

void TestServer::script(std::string_view text, Script rest) {
  rest.tokens = format.ids(text);
  service.setAuthor([rest](const CompletionRequest &) { return rest; });
}

ClientResponse TestServer::get(std::string_view path, std::string_view fields) {
  return ask(port(), "GET", path, "", fields);
}

ClientResponse TestServer::post(std::string_view path, const nlohmann::json &body,
                                std::string_view fields) {
  return ask(port(), "POST", path, body.dump(), fields);
}

nlohmann::json TestServer::json(std::string_view path, const nlohmann::json &body) {
  const ClientResponse response = post(path, body);
  EXPECT_EQ(response.status, 200u) << response.body;
  return response.status == 200 ? nlohmann::json::parse(response.body) : nlohmann::json();
}

std::vector<RequestRecord> TestServer::log() const {
  std::lock_guard lock(mutex);
  return records;
}

} // namespace inf::test
