// infrun serve model.so: OpenAI's API over HTTP.
#include <unistd.h>

#include <cmath>
#include <ctime>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "runtime/base/Error.h"
#include "runtime/engine/Engine.h"
#include "runtime/server/ApiServer.h"
#include "runtime/tools/Commands.h"
#include "runtime/tools/ThreadsReport.h"
#include "runtime/tools/serve/DescriptorLimit.h"
#include "runtime/tools/serve/LogWriter.h"
#include "runtime/tools/serve/ServeLog.h"
#include "runtime/tools/serve/ServeOptions.h"
#include "runtime/tools/serve/ShutdownSignals.h"

namespace inf {
namespace {

constexpr double flushSeconds = 3;

std::string utcNow() {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
}

std::string logLine(const ServeOptions &options, const RequestRecord &record) {
  return options.logFormat == "json" ? jsonLogLine(record, utcNow())
                                     : "infrun: " + textLogLine(record);
}

HttpServerOptions httpOptions(const ServeOptions &options) {
  HttpServerOptions http = options.http;
  http.connections = connectionsThatFit(http.connections);
  if (http.connections < options.http.connections)
    notice(fmt::format("warning: the limit of open files leaves {} connections, not {}; ulimit -n "
                       "raises it",
                       http.connections, options.http.connections));
  return http;
}

/// Null, with a notice, for a model that has none: completions of plain text still work.
std::unique_ptr<const ChatFormat> findChatFormat(const Model &model, const ServeOptions &options) {
  try {
    return chatFormat(model, options.chat);
  } catch (const Error &error) {
    if (!options.chat.format.empty() || error.code != ErrorCode::BadInput)
      throw;
    notice(fmt::format("warning: no chat and no responses: {}", error.what()));
    return nullptr;
  }
}

EngineOptions engineOptions(const ServeOptions &options, const ThreadPlan &plan,
                            const Model &model) {
  EngineOptions engine;
  engine.sequences = options.sequences;
  engine.queue = options.queue;
  engine.context =
      options.context ? cappedContext(model, options.context) : uint32_t(model.code().max_context);
  engine.kvBytes = options.kvMegabytes * 1'000'000;
  engine.prefixes = !options.noPrefixCache;
  engine.stepTokens = options.stepTokens;
  engine.paceFactor = options.pace;
  engine.threads = plan;
  engine.threadsFollowMemory = options.model.threadsFollowMemory();
  return engine;
}

std::string buildIdOf(const Model &model) {
  return fmt::format("{:016x}{:016x}", model.code().build_id[1], model.code().build_id[0]);
}

std::string addressText(const ServeOptions &options, uint16_t port) {
  const bool six = options.http.host.find(':') != std::string::npos;
  return six ? fmt::format("http://[{}]:{}", options.http.host, port)
             : fmt::format("http://{}:{}", options.http.host, port);
}

std::chrono::milliseconds milliseconds(double seconds) {
  return std::chrono::milliseconds(std::llround(seconds * 1e3));
}

/// Answers until a signal comes, then lets running answers finish.
void serve(const ServedModel &model, const ServeOptions &options, ShutdownSignals &signals) {
  ApiOptions apiOptions = options.api;
  LogWriter log(STDERR_FILENO);
  apiOptions.log = [&](const RequestRecord &record) { log.add(logLine(options, record)); };
  ApiServer api(model, std::move(apiOptions));
  HttpServer http(httpOptions(options), api);
  api.setHttpCounters([&http] { return http.counters(); });
  notice(fmt::format("{} answers at {}/v1", model.id, addressText(options, http.port())));
  signals.ready();
  signals.wait();
  signals.release();
  notice(fmt::format("stopping; running answers have {} s. Once more ends it now.",
                     options.drainSeconds));
  api.startDraining();
  model.service.drain(milliseconds(options.drainSeconds));
  http.stop(milliseconds(flushSeconds)); // answers are complete, but perhaps not yet sent
}

} // namespace

int serveCommand(Arguments arguments, Output &out) {
  ServeOptions options;
  if (!parseServeOptions(std::move(arguments), out, options))
    return 0;
  ShutdownSignals signals; // before other threads start
  const ThreadPlan plan = chooseThreads(options.model.threads, options.model.verbose);
  const std::shared_ptr<const Model> model = loadModel(options.model, plan, true);
  const Tokenizer &tokenizer = model->requireTokenizer();
  const std::unique_ptr<const ChatFormat> format = findChatFormat(*model, options);
  Engine engine(model, engineOptions(options, plan, *model));
  const std::string &name = model->manifest().modelName;
  serve(ServedModel{options.name.empty() ? name : options.name, buildIdOf(*model),
                    std::time(nullptr), tokenizer, format.get(), engine},
        options, signals);
  if (options.model.verbose)
    notice(decodeThreadsText(engine.decodeThreads()));
  return 0;
}

} // namespace inf
