#include "runtime/tools/serve/ServeOptions.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "runtime/base/Error.h"
#include "runtime/tools/TokenInput.h"

namespace inf {
namespace {

constexpr std::string_view help =
    R"(Usage: infrun serve MODEL.so [options]
Answers OpenAI's API over HTTP until SIGTERM or Ctrl-C; docs/serving.md has all.
  --host ADDRESS     listen there (127.0.0.1)      --port N   (8000; 0: any)
  --api-key KEY      ask for it; may be given several times
  --api-key-file F   a key a line
  --cors-origin O    let web pages of that origin read answers; "*": all
  --allowed-host H   a name that web pages may reach it by; "*": any
  --model-name NAME  what requests call the model (its own name)
  --chat-format F    harmony, chatml, ... instead of the model's own
  --sequences N      answered at a time (8)        --queue N  waiting (64)
  --context N        tokens of a request at most (the model's)
  --kv-memory MB     for keys and values (chosen)
  --no-prefix-cache  prompts share nothing
  --step-tokens N    rows of a step at most: long prompts go in chunks
  --pace X           times slower that streams may get while prompts arrive (3)
  --request-timeout S  seconds that an answer may take; 0: no limit (0)
  --max-body MB      of a request (16)
  --drain S          seconds for running answers when told to stop (30)
  --log-format F     text or json; neither prompts nor answers are logged
  --threads N  --load, --numa MODE  --verbose  as for `infrun --help`
Example: infrun serve model.so --port 8000 --api-key-file keys.txt
)";

constexpr double leastPace = 1.1, mostPace = 1e6;
constexpr double mostSeconds = 30 * 86400, mostMegabytes = 1 << 20;

void addHttpFlags(CLI::App &app, ServeOptions &options) {
  app.add_option("--host", options.http.host);
  app.add_option("--port", options.http.port);
  app.add_option("--api-key", options.api.keys)->allow_extra_args(false);
  app.add_option("--api-key-file", options.keyFile);
  app.add_option("--cors-origin", options.api.corsOrigins)->allow_extra_args(false);
  app.add_option("--allowed-host", options.api.allowedHosts)->allow_extra_args(false);
  app.add_option("--request-timeout", options.requestTimeout);
  app.add_option("--max-body", options.maxBodyMegabytes);
  app.add_option("--drain", options.drainSeconds);
  app.add_option("--log-format", options.logFormat);
}

void addEngineFlags(CLI::App &app, ServeOptions &options) {
  app.add_option("--model-name", options.name);
  app.add_option("--chat-format", options.chat.format);
  app.add_option("--sequences", options.sequences);
  app.add_option("--queue", options.queue);
  app.add_option("--context", options.context);
  app.add_option("--kv-memory", options.kvMegabytes);
  app.add_flag("--no-prefix-cache", options.noPrefixCache);
  app.add_option("--step-tokens", options.stepTokens);
  app.add_option("--pace", options.pace);
}

void expectRange(const char *flag, double value, double least, double most) {
  if (!(value >= least && value <= most))
    fail(ErrorCode::Usage, "{} {}: expected {} to {}.", flag, value, least, most);
}

void readKeyFile(ServeOptions &options) {
  if (options.keyFile.empty())
    return;
  const std::string text = readText(options.keyFile);
  size_t begin = 0;
  while (begin < text.size()) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    std::string line = text.substr(begin, end - begin);
    line.erase(line.find_last_not_of(" \t\r") + 1);
    if (!line.empty() && line[0] != '#')
      options.api.keys.push_back(line);
    begin = end + 1;
  }
  if (options.api.keys.empty())
    fail(ErrorCode::Usage, "--api-key-file '{}' has no key; expected one a line.", options.keyFile);
}

void check(ServeOptions &options) {
  expectRange("--request-timeout", options.requestTimeout, 0, mostSeconds);
  expectRange("--drain", options.drainSeconds, 0, mostSeconds);
  expectRange("--max-body", options.maxBodyMegabytes, 0.001, 1024);
  expectRange("--pace", options.pace, leastPace, mostPace);
  expectRange("--sequences", options.sequences, 1, 4096);
  expectRange("--queue", options.queue, 0, 1 << 20);
  expectRange("--kv-memory", double(options.kvMegabytes), 0, mostMegabytes);
  if (options.logFormat != "text" && options.logFormat != "json")
    fail(ErrorCode::Usage, "--log-format '{}': expected text or json.", options.logFormat);
  readKeyFile(options);
  for (const std::string &key : options.api.keys)
    if (key.empty())
      fail(ErrorCode::Usage, "--api-key is empty; leave it out to let everybody ask.");
}

/// Pages of anybody reach a server on this machine, and without keys it answers them: the names by
/// which they may are then those of this machine.
void protectLoopback(ServeOptions &options) {
  const std::string &host = options.http.host;
  if (options.api.keys.empty() && options.api.allowedHosts.empty() &&
      (host.starts_with("127.") || host == "::1"))
    options.api.allowedHosts = {"localhost"};
}

} // namespace

bool parseServeOptions(Arguments arguments, Output &out, ServeOptions &options) {
  CLI::App app("", "infrun serve");
  addModelOptions(app, options.model);
  addLoadOption(app, options.model);
  addHttpFlags(app, options);
  addEngineFlags(app, options);
  if (!parseArguments(app, help, std::move(arguments), out))
    return false;
  check(options);
  protectLoopback(options);
  options.http.bodyBytes = size_t(options.maxBodyMegabytes * 1e6);
  options.http.allBodiesBytes = std::max(options.http.allBodiesBytes, 4 * options.http.bodyBytes);
  options.api.deadline = std::chrono::milliseconds(int64_t(options.requestTimeout * 1e3));
  return true;
}

} // namespace inf
