// infrun bench: how fast a model runs here.
#include <algorithm>
#include <chrono>
#include <random>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "runtime/base/Error.h"
#include "runtime/session/Traffic.h"
#include "runtime/tools/Commands.h"
#include "runtime/tools/ModelOptions.h"

namespace inf {
namespace {

constexpr std::string_view help =
    R"(Usage: infrun bench MODEL.so [options]
Speed on random token ids of a fixed seed, after one run that is not counted.
Prints medians: tokens per second of prefill and decode, and the bytes decoding
reads per second (weights, keys, values), to hold against the memory's speed.
  -p, --prompt-tokens N     tokens of the prompt (512)
  -n, --generated-tokens N  tokens decoded after it, one a step (64)
  -r, --repeat N            runs counted (3)
  --threads N               default: physical cores that limits allow
  --json                    print one JSON object
  --verbose                 say which threads run and why
  --help                    print this
Example: infrun bench model.so -p 512 -n 64 --json
)";

struct BenchOptions {
  ModelOptions model;
  uint64_t promptTokens = 512, generatedTokens = 64, repeat = 3;
  bool json = false;
};

struct Timing {
  double prefillSeconds = 0, decodeSeconds = 0;
  uint64_t decodeBytes = 0, hash = 0;
};

using Clock = std::chrono::steady_clock;

double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// The generator's output is fixed by the standard, a distribution's is not: hence the remainder.
std::vector<int32_t> randomIds(uint64_t count, uint32_t vocabulary) {
  std::mt19937_64 random(20240229);
  std::vector<int32_t> ids(count);
  for (int32_t &id : ids)
    id = static_cast<int32_t>(random() % vocabulary);
  return ids;
}

Timing timeOnce(Session &session, std::span<const int32_t> prompt,
                std::span<const int32_t> generated) {
  Timing timing;
  session.reset(0);
  Clock::time_point start = Clock::now();
  std::span<const float> logits = session.prefill(0, prompt).logits;
  timing.prefillSeconds = secondsSince(start);
  for (int32_t id : generated) {
    timing.decodeBytes += bytesPerGeneratedToken(session.model(), session.position(0));
    RowRequest row = {id, 0, INF_ROW_GENERATED, INF_OUTPUT_LOGITS};
    start = Clock::now();
    logits = session.step({&row, 1}).logits(0);
    timing.decodeSeconds += secondsSince(start);
  }
  timing.hash = logitsHash(logits);
  return timing;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  size_t half = values.size() / 2;
  return values.size() % 2 ? values[half] : (values[half - 1] + values[half]) / 2;
}

double perSecond(uint64_t amount, double seconds) {
  return seconds > 0 ? static_cast<double>(amount) / seconds : 0;
}

struct Medians {
  double prefill = 0, decode = 0, bytes = 0; ///< tok/s, tok/s, bytes/s
};

Medians mediansOf(const std::vector<Timing> &timings, const BenchOptions &options) {
  std::vector<double> prefill, decode, bytes;
  for (const Timing &timing : timings) {
    prefill.push_back(perSecond(options.promptTokens, timing.prefillSeconds));
    decode.push_back(perSecond(options.generatedTokens, timing.decodeSeconds));
    bytes.push_back(perSecond(timing.decodeBytes, timing.decodeSeconds));
  }
  return {median(prefill), median(decode), median(bytes)};
}

std::string report(const BenchOptions &options, const Medians &m, const ThreadPlan &plan,
                   uint64_t hash, const std::string &cpu) {
  if (!options.json)
    return fmt::format("{}\nprefill {:>5} tokens  {:>9.1f} tok/s\ndecode  {:>5} tokens  {:>9.2f} "
                       "tok/s  {:>7.2f} GB/s\nthreads {} ({})\nmedian of {}, peak memory {}, "
                       "logits {:016x}\n",
                       cpu, options.promptTokens, m.prefill, options.generatedTokens, m.decode,
                       m.bytes / 1e9, plan.threads, plan.reason, options.repeat, peakMemoryText(),
                       hash);
  nlohmann::ordered_json object = {{"cpu", cpu},
                                   {"threads", plan.threads},
                                   {"threads_reason", plan.reason},
                                   {"prompt_tokens", options.promptTokens},
                                   {"generated_tokens", options.generatedTokens},
                                   {"repeat", options.repeat},
                                   {"prefill_tok_s", m.prefill},
                                   {"decode_tok_s", m.decode},
                                   {"gb_s", m.bytes / 1e9},
                                   {"logits_hash", fmt::format("{:016x}", hash)}};
  return object.dump(2) + "\n";
}

void checkOptions(const BenchOptions &options) {
  if (options.promptTokens < 1 || options.repeat < 1 || options.repeat > 1000)
    fail(ErrorCode::Usage,
         "-p {} -r {} cannot be measured: expected a prompt of at least 1 token "
         "and 1 to 1000 runs.",
         options.promptTokens, options.repeat);
}

uint64_t contextFor(const BenchOptions &options, const Model &model) {
  uint64_t most = model.code().max_context;
  if (options.promptTokens > most || options.generatedTokens > most - options.promptTokens)
    fail(ErrorCode::TooLong, "-p {} and -n {} do not fit into this model's context of {}.",
         options.promptTokens, options.generatedTokens, most);
  return options.promptTokens + options.generatedTokens;
}

} // namespace

int benchCommand(Arguments arguments, Output &out) {
  CLI::App app("", "infrun bench");
  BenchOptions options;
  addModelOptions(app, options.model);
  app.add_option("-p,--prompt-tokens", options.promptTokens);
  app.add_option("-n,--generated-tokens", options.generatedTokens);
  app.add_option("-r,--repeat", options.repeat);
  app.add_flag("--json", options.json);
  if (!parseArguments(app, help, std::move(arguments), out))
    return 0;
  checkOptions(options);

  std::shared_ptr<const Model> model = Model::load(options.model.path);
  uint64_t context = contextFor(options, *model);
  ThreadPlan plan = chooseThreads(options.model.threads, options.model.verbose);
  std::unique_ptr<Session> session = makeSession(model, context, plan);
  std::vector<int32_t> ids = randomIds(context, model->code().vocabulary);
  std::span<const int32_t> prompt(ids.data(), options.promptTokens);
  std::span<const int32_t> generated(ids.data() + options.promptTokens, options.generatedTokens);

  timeOnce(*session, prompt, generated.first(std::min<size_t>(generated.size(), 2)));
  std::vector<Timing> timings;
  for (uint64_t i = 0; i < options.repeat; ++i)
    timings.push_back(timeOnce(*session, prompt, generated));
  out.write(report(options, mediansOf(timings, options), plan, timings.back().hash,
                   hostMachine().cpuName));
  return 0;
}

} // namespace inf
