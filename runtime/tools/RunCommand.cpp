// infrun model.so --prompt "…": a prompt in, a stream of text out.
#include <optional>

#include <fmt/format.h>

#include "runtime/base/Error.h"
#include "runtime/jit/Jit.h"
#include "runtime/session/Generator.h"
#include "runtime/tools/Commands.h"
#include "runtime/tools/Interrupts.h"
#include "runtime/tools/ModelOptions.h"
#include "runtime/tools/SamplingFlags.h"
#include "runtime/tools/StartReport.h"
#include "runtime/tools/ThreadsReport.h"
#include "runtime/tools/TokenInput.h"
#include "runtime/tools/chat/ChatOnce.h"

namespace inf {
namespace {

constexpr std::string_view help =
    R"(Usage: infrun MODEL (--prompt TEXT | --ids 1,2,3) [options]
       infrun chat | serve | score | bench | trace | doctor | fill | cache
MODEL: a model.so, or a checkpoint directory, model.json or .gguf to compile.
Streams what the model says to stdout, one status line to stderr.
  --prompt TEXT      plain text, no chat template; "-" reads standard input
  --raw              <|end|> and the like are special tokens, and are shown
  --chat             in the model's chat format; --system, --effort, --date,
                     --chat-format as in infrun chat
  --ids 1,2,3        token ids instead of a text
  --max-tokens N     stop after N tokens (256)
  --stop TEXT        stop before TEXT appears; may be given several times
  --temperature T    0 always takes the likeliest token (0); --seed N (0)
  --help-sampling    top-k, top-p, penalties, logit bias, DRY, mirostat, ...
  --context N        tokens held at most, up to the model's maximum (4096)
  --threads N        default: physical cores allowed; decoding: fewest that do
  --load MODE        weights: map (starts at once), copy (into huge pages), auto
  --numa MODE        auto, off, report: copied weights on their readers' node
  --print-ids        print token ids instead of text
  --target --quant --activations --kv --weights --no-cache --cache-dir
  --cache-limit --compiler   for a MODEL to compile, as infc compile has them
  --verbose          say which threads run and why, where time and memory go
  --version, --help  print the version, or this
Example: infrun model.so --prompt "Once upon a time" --max-tokens 64
)";

constexpr uint64_t defaultContext = 4096;

struct RunOptions {
  ModelOptions model;
  std::optional<std::string> prompt, ids;
  bool raw = false, printIds = false, asChat = false;
  ChatOptions chat;
  std::optional<uint64_t> context; ///< nullopt: defaultContext or what the model holds
  SamplingFlags sampling;
  GenerateOptions generate;
};

void addOptions(CLI::App &app, RunOptions &options) {
  addModelOptions(app, options.model);
  addLoadOption(app, options.model);
  addCompileFlags(app, options.model.compile);
  app.add_option("--prompt", options.prompt);
  app.add_flag("--raw", options.raw);
  app.add_flag("--chat", options.asChat);
  addChatOptions(app, options.chat);
  app.add_option("--ids", options.ids);
  app.add_option("--max-tokens", options.generate.maxTokens);
  app.add_option("--stop", options.generate.stopStrings)->allow_extra_args(false);
  addSamplingFlags(app, options.sampling);
  app.set_help_all_flag("--help-sampling");
  app.add_option("--context", options.context);
  app.add_flag("--print-ids", options.printIds);
}

/// What needs no model is refused before one is loaded.
void checkOptions(RunOptions &options) {
  checkSamplingFlags(options.sampling);
  if (options.prompt.has_value() == options.ids.has_value())
    fail(ErrorCode::Usage,
         "expected one of --prompt and --ids, got {}. `infrun --help` has an "
         "example.",
         options.prompt ? "both" : "none");
  bool tokens = options.ids || options.raw || options.printIds;
  if (options.asChat && (tokens || !options.generate.stopStrings.empty()))
    fail(ErrorCode::Usage,
         "--chat can't be combined with --ids, --raw, --print-ids or --stop. Leave them out.");
  if (!options.asChat && options.chat.given())
    fail(ErrorCode::Usage, "--system, --effort, --chat-format and --date need --chat. Add it.");
  if (options.context == uint64_t{0})
    fail(ErrorCode::Usage, "--context 0 holds nothing; expected at least 1.");
}

std::string promptText(const RunOptions &options) {
  return *options.prompt == "-" ? readText("-") : *options.prompt;
}

std::vector<int32_t> promptIds(const RunOptions &options, const Model &model) {
  if (options.ids)
    return parseIds(*options.ids);
  return promptTokens(model.requireTokenizer(), promptText(options), options.raw);
}

/// Text, or ids when asked for or when the model has no tokenizer.
GenerateSinks makeSinks(const RunOptions &options, const Model &model, Output &out,
                        Interrupts &interrupts) {
  GenerateSinks sinks;
  sinks.cancelled = [&interrupts] { return interrupts.arrived(); };
  if (options.printIds || !model.tokenizer())
    sinks.token = [&out, first = true](int32_t id) mutable {
      out.write(fmt::format("{}{}", first ? "" : " ", id));
      first = false;
    };
  else
    sinks.text = [&out](std::string_view text) { out.write(text); };
  return sinks;
}

std::string statusLine(const GenerateResult &result) {
  std::string hash =
      result.lastLogitsHash ? fmt::format("{:016x}", *result.lastLogitsHash) : "none";
  return fmt::format("prompt {} tokens, {:.1f} tok/s; generated {} tokens, {:.2f} tok/s, {:.2f} "
                     "GB/s; finish {}; peak memory {}; logits {}",
                     result.promptTokens, result.prefillTokensPerSecond(), result.generatedTokens,
                     result.decodeTokensPerSecond(), result.decodeBytesPerSecond() / 1e9,
                     finishReasonName(result.reason), peakMemoryText(), hash);
}

} // namespace

int runCommand(Arguments arguments, Output &out) {
  StartReport start;
  CLI::App app("", "infrun");
  RunOptions options;
  addOptions(app, options);
  if (!parseArguments(app, help, std::move(arguments), out, samplingHelp))
    return 0;
  checkOptions(options);
  // Who writes markers by hand wants to see those of the answer.
  options.generate.specials = options.raw ? SpecialOutput::Show : SpecialOutput::Skip;

  ThreadPlan plan = chooseThreads(options.model.threads, options.model.verbose);
  std::shared_ptr<const Model> model = loadModel(options.model, plan);
  start.loaded();
  std::vector<int32_t> prompt;
  if (!options.asChat)
    prompt = promptIds(options, *model);
  options.generate.sampling = samplingOptions(options.sampling, model->tokenizer());
  if (options.context && *options.context > model->code().max_context)
    notice(fmt::format("warning: --context {} is more than this model's {}, which is used.",
                       *options.context, model->code().max_context));
  Interrupts interrupts; // before the session starts threads
  start.sessionBegins();
  SessionOptions wanted;
  wanted.threadsFollowMemory = options.model.threadsFollowMemory();
  std::unique_ptr<Session> session =
      makeSession(model, options.context.value_or(defaultContext), plan, wanted);
  start.sessionMade();
  if (options.model.verbose)
    notice(memoryText(*session));
  if (options.asChat) {
    ChatOnce once = {options.chat, options.generate.sampling, options.generate.maxTokens};
    const std::string status = chatOnce(*session, once, promptText(options), out, interrupts);
    if (options.model.verbose)
      notice(decodeThreadsText(session->decodeThreads()));
    notice(status);
    return 0;
  }
  Generator generator(*session, 0, options.generate);
  GenerateResult result = generator.generate(prompt, makeSinks(options, *model, out, interrupts));
  if (out.isTerminal() || options.printIds || !model->tokenizer())
    out.write("\n");
  if (options.model.verbose) {
    notice(start.timesText(*model, result, isModelSource(options.model.path)));
    notice(decodeThreadsText(session->decodeThreads()));
  }
  notice(statusLine(result));
  return 0;
}

} // namespace inf
