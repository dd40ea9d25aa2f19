// infrun trace: what every stage gives for a prompt.
#include <optional>

#include "runtime/base/Error.h"
#include "runtime/tools/Commands.h"
#include "runtime/tools/ModelOptions.h"
#include "runtime/tools/TokenInput.h"
#include "runtime/trace/Trace.h"

namespace inf {
namespace {

constexpr std::string_view help =
    R"(Usage: infrun trace MODEL (--prompt TEXT | --ids 1,2,3) [options]
Runs the prompt and prints, for every stage of every layer, the least and the
largest value, their mean, how many are NaN, and a hash of the bytes; last the
first stage whose values are not finite. MODEL as for `infrun MODEL`.
  --prompt TEXT      plain text; "-" reads standard input
  --raw              <|end|> and the like are special tokens in the prompt
  --ids 1,2,3        token ids instead of a text
  --threads N        default: physical cores allowed by affinity and quota
  --load, --numa MODE   as for infrun itself
  --json             as JSON
  --target --quant --activations --kv --weights   as infc compile has them;
  --no-cache --cache-dir --cache-limit --compiler  for MODELs to compile only
  --verbose          say which threads run and why
  --help             print this
Example: infrun trace model.so --ids 491,475,258
)";

struct TraceFlags {
  ModelOptions model;
  std::optional<std::string> prompt, ids;
  bool raw = false, json = false;
};

std::vector<int32_t> idsOf(const TraceFlags &flags, const Model &model) {
  if (flags.ids)
    return parseIds(*flags.ids);
  const std::string text = *flags.prompt == "-" ? readText("-") : *flags.prompt;
  return promptTokens(model.requireTokenizer(), text, flags.raw);
}

} // namespace

int traceCommand(Arguments arguments, Output &out) {
  CLI::App app("", "infrun trace");
  TraceFlags flags;
  addModelOptions(app, flags.model);
  addLoadOption(app, flags.model);
  addCompileFlags(app, flags.model.compile);
  app.add_option("--prompt", flags.prompt);
  app.add_flag("--raw", flags.raw);
  app.add_option("--ids", flags.ids);
  app.add_flag("--json", flags.json);
  if (!parseArguments(app, help, std::move(arguments), out))
    return 0;
  if (flags.prompt.has_value() == flags.ids.has_value())
    fail(ErrorCode::Usage,
         "expected one of --prompt and --ids, got {}. `infrun trace --help` has "
         "an example.",
         flags.prompt ? "both" : "none");
  TraceOptions options;
  options.threads = chooseThreads(flags.model.threads, flags.model.verbose);
  const std::shared_ptr<const Model> model = loadModel(flags.model, options.threads);
  const Trace trace = traceModel(model, idsOf(flags, *model), options);
  out.write(flags.json ? traceJson(trace) : traceText(trace));
  return 0;
}

} // namespace inf
