// infrun model.so --prompt "…": a prompt in, a stream of text out.
#include <optional>

#include <fmt/format.h>

#include "runtime/base/Error.h"
#include "runtime/session/Generator.h"
#include "runtime/tools/Commands.h"
#include "runtime/tools/Interrupts.h"
#include "runtime/tools/ModelOptions.h"
#include "runtime/tools/SamplingFlags.h"
#include "runtime/tools/TokenInput.h"

namespace inf {
namespace {

constexpr std::string_view help =
    R"(Usage: infrun MODEL.so (--prompt TEXT | --ids 1,2,3) [options]
       infrun chat | serve | score | bench | doctor | fill ...   (--help after each)
Streams what the model says to stdout, one status line to stderr.
  --prompt TEXT      plain text, no chat template; "-" reads standard input
  --raw              <|end|> and the like are special tokens in the prompt and
                     are shown in the answer
  --ids 1,2,3        token ids instead of a text
  --max-tokens N     stop after N tokens (256)
  --stop TEXT        stop before TEXT appears; may be given several times
  --temperature T    0 always takes the likeliest token (0)
  --top-k K          sample from the K likeliest tokens; 0: all (0)
  --top-p P          sample from the likeliest that reach probability P (1)
  --seed N           the same seed gives the same text (0)
  --help-sampling    penalties, logit bias, DRY, mirostat and more filters
  --context N        tokens held at most, up to the model's maximum (4096)
  --threads N        default: physical cores allowed by affinity and quota
  --load MODE        weights: map (starts at once), copy (into huge pages), auto
  --print-ids        print token ids instead of text
  --verbose          say which threads run and why
  --version          print the version
  --help             print this
Example: infrun model.so --prompt "Once upon a time" --max-tokens 64
)";

constexpr uint64_t defaultContext = 4096;

struct RunOptions {
  ModelOptions model;
  std::optional<std::string> prompt, ids;
  bool raw = false, printIds = false;
  std::optional<uint64_t> context; ///< nullopt: defaultContext or what the model holds
  SamplingFlags sampling;
  GenerateOptions generate;
};

void addOptions(CLI::App &app, RunOptions &options) {
  addModelOptions(app, options.model);
  addLoadOption(app, options.model);
  app.add_option("--prompt", options.prompt);
  app.add_flag("--raw", options.raw);
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
  if (options.context == uint64_t{0})
    fail(ErrorCode::Usage, "--context 0 holds nothing; expected at least 1.");
}

std::vector<int32_t> promptIds(const RunOptions &options, const Model &model) {
  if (options.ids)
    return parseIds(*options.ids);
  std::string text = *options.prompt == "-" ? readText("-") : *options.prompt;
  return model.requireTokenizer().encode(text, options.raw ? SpecialTokens::Allow
                                                           : SpecialTokens::AsText);
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
  std::vector<int32_t> prompt = promptIds(options, *model);
  options.generate.sampling = samplingOptions(options.sampling, model->tokenizer());
  if (options.context && *options.context > model->code().max_context)
    notice(fmt::format("warning: --context {} is more than this model's {}, which is used.",
                       *options.context, model->code().max_context));
  Interrupts interrupts; // before the session starts threads
  std::unique_ptr<Session> session =
      makeSession(model, options.context.value_or(defaultContext), plan);
  Generator generator(*session, 0, options.generate);
  GenerateResult result = generator.generate(prompt, makeSinks(options, *model, out, interrupts));
  if (out.isTerminal() || options.printIds || !model->tokenizer())
    out.write("\n");
  notice(statusLine(result));
  return 0;
}

} // namespace inf
