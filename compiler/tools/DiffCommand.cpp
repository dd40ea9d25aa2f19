#include "compiler/tools/DiffCommand.h"

#include <fmt/format.h>

#include "runtime/base/Error.h"
#include "runtime/cpu/SystemRoot.h"
#include "runtime/cpu/ThreadPlan.h"
#include "runtime/loader/Model.h"
#include "runtime/trace/Diff.h"

namespace inf {
namespace {

Trace traceOf(const std::string &path, const DiffFlags &flags) {
  const std::shared_ptr<const Model> model = Model::load(path);
  TraceOptions options;
  options.threads = planThreads(SystemRoot{}, std::nullopt);
  options.keepValues = true;
  const std::vector<int32_t> tokens =
      flags.tokens.empty()
          ? model->requireTokenizer().encode(flags.prompt, SpecialTokens::AsText, TextEnds::Begun)
          : flags.tokens;
  return traceModel(model, tokens, options);
}

void runDiff(const DiffFlags &flags) {
  if (flags.tokens.empty() == flags.prompt.empty())
    fail(ErrorCode::Usage, "expected one of --prompt and --ids, got {}",
         flags.prompt.empty() ? "none" : "both");
  if (!(flags.tolerance >= 0))
    fail(ErrorCode::Usage, "--tolerance is a share of the largest value, 0 or more, not {}",
         flags.tolerance);
  Trace a = traceOf(flags.a, flags), b = traceOf(flags.b, flags);
  const TraceDiff diff = diffTraces(a, b, flags.tolerance);
  fmt::print("{}", (flags.json ? diffJson : diffText)(diff, a, b));
}

} // namespace

void addDiff(CLI::App &app, DiffFlags &flags) {
  CLI::App *command =
      app.add_subcommand("diff", "run two builds of a model and say where they part");
  command->add_option("a", flags.a, "model.so")->required();
  command->add_option("b", flags.b, "model.so of another target, --quant or version")->required();
  command->add_option("--prompt", flags.prompt, "plain text");
  command->add_option("--ids", flags.tokens, "token ids: 1,2,3")->delimiter(',');
  command->add_option("--tolerance", flags.tolerance,
                      "share of a stage's largest value that is reported (0.01)");
  command->add_flag("--json", flags.json, "as JSON");
  command->footer("example: infc diff int8.so int4.so --ids 491,475,258");
  command->callback([&flags] { runDiff(flags); });
}

} // namespace inf
