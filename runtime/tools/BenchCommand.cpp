// infrun bench: how fast a model runs here, beside what this machine can do.
#include <algorithm>

#include <fmt/format.h>

#include "runtime/base/Error.h"
#include "runtime/cpu/SystemRoot.h"
#include "runtime/cpu/ThreadPlan.h"
#include "runtime/tools/Commands.h"
#include "runtime/tools/ModelOptions.h"
#include "runtime/tools/bench/BenchReport.h"
#include "runtime/tools/bench/Sweep.h"

namespace inf {
namespace {

constexpr std::string_view help =
    R"(Usage: infrun bench MODEL [options]
Speed on random token ids of a fixed seed, after one run that is not counted:
medians, beside the machine's limits, which are measured on the same threads
between the runs. LIST: numbers with commas. MODEL as for infrun.
  -p, --prompt-tokens LIST   prompts to prefill (512)
  -n, --generated-tokens N   tokens decoded, one a step; 0: none (64)
  --context LIST             tokens held before decoding starts (0); in turns
  --batch LIST               sequences decoded together (1)
  --same-text                those of a batch hold one text: the same experts
  -r, --repeat N             runs counted (3)
  --threads N|sweep          default: physical cores allowed; sweep: 1 to those
  --load MODE                weights: map, copy (into huge pages), auto: copy
  --numa MODE                auto, off, report: copied weights by NUMA node
  --stages                   where the time goes, in extra runs
  --no-roof                  leave the limits out: shorter, and no shares
  --json                     print one JSON object
  --target --quant --activations --kv --weights   as infc compile has them;
  --no-cache --cache-dir --cache-limit --compiler  for MODELs to compile only
  --verbose                  say which threads run and why
  --help                     print this
Example: infrun bench model.so -p 128,512 --context 0,4096 --batch 1,8 --stages
)";

// Far beyond what anybody waits for; keeps sums from wrapping.
constexpr uint64_t mostTokens = uint64_t(1) << 31, mostBatch = 65536;

/// The lists and numbers as written.
struct BenchFlags {
  std::string prompts = "512", contexts = "0", batches = "1", threads;
  bool noRoof = false;
  CompileFlags compile;
};

void addOptions(CLI::App &app, BenchOptions &options, BenchFlags &flags) {
  app.add_option("model", options.modelPath)->required();
  app.add_option("-p,--prompt-tokens", flags.prompts);
  app.add_option("-n,--generated-tokens", options.generatedTokens);
  app.add_option("--context", flags.contexts);
  app.add_option("--batch", flags.batches);
  app.add_flag("--same-text", options.sameText);
  app.add_option("-r,--repeat", options.repeat);
  app.add_option("--threads", flags.threads);
  app.add_option("--load", options.load);
  app.add_option("--numa", options.numa)->check(CLI::IsMember({"auto", "off", "report"}));
  app.add_flag("--stages", options.stages);
  app.add_flag("--no-roof", flags.noRoof);
  app.add_flag("--json", options.json);
  app.add_flag("--verbose", options.verbose);
  addCompileFlags(app, flags.compile);
}

void finishOptions(BenchOptions &options, const BenchFlags &flags) {
  options.promptTokens = parseCounts("-p", flags.prompts, 1, mostTokens);
  options.contexts = parseCounts("--context", flags.contexts, 0, mostTokens);
  options.batches = parseCounts("--batch", flags.batches, 1, mostBatch);
  if (!flags.threads.empty())
    parseThreads(flags.threads, options);
  options.roof = !flags.noRoof;
  if (options.repeat < 1 || options.repeat > 1000)
    fail(ErrorCode::Usage, "-r {} cannot be measured: expected 1 to 1000 runs.", options.repeat);
}

/// One plan, or one for each count of the sweep. All before the first pool: it binds this thread.
std::vector<ThreadPlan> planRuns(const BenchOptions &options) {
  const ThreadPlan chosen = chooseThreads(options.threads, options.verbose);
  if (!options.sweep)
    return {chosen};
  std::vector<ThreadPlan> plans;
  for (unsigned count : sweepCounts(chosen.threads))
    plans.push_back(planThreads(SystemRoot{}, count));
  return plans;
}

/// The measurements of one thread count, each with a session of its own settings.
class Bench {
public:
  Bench(std::shared_ptr<const Model> theModel, const BenchOptions &theOptions)
      : model(std::move(theModel)), options(theOptions) {
    const uint64_t context = neededContext(
        options, {model->code().max_context,
                  std::min(model->code().plan->max_rows, model->code().plan->max_output_rows)});
    settings.context = static_cast<uint32_t>(context);
    settings.maxSequences =
        static_cast<uint32_t>(*std::max_element(options.batches.begin(), options.batches.end()) *
                              options.contexts.size());
  }

  ThreadResult measure(const ThreadPlan &plan) const {
    ThreadResult result;
    result.plan = plan;
    Session session(model, sessionOptions(plan, {}));
    std::optional<Roof> roof;
    if (options.roof)
      roof.emplace(session.threadPool(), ByteSpans{model->weights()});
    Runner runner(session, options, roof ? &*roof : nullptr, nullptr);
    result.runs = allRuns(runner);
    if (roof)
      result.roof = roof->report();
    return result;
  }

  /// The same again with the clock read at every barrier, and no roof in between.
  std::vector<StageTable> stages(const ThreadPlan &plan) const {
    StageTimer timer;
    Session session(model, sessionOptions(plan, timer.hook()));
    Runner runner(session, options, nullptr, &timer);
    std::vector<StageTable> tables;
    for (const BenchRun &run : allRuns(runner)) {
      const uint64_t tokens = run.tokens * run.batch * run.seconds.size();
      tables.push_back({run.kind, run.tokens, run.context, run.batch,
                        stageRows(run.stages, model->manifest().stages, tokens)});
    }
    return tables;
  }

private:
  SessionOptions sessionOptions(const ThreadPlan &plan, BarrierHook hook) const {
    SessionOptions all = settings;
    all.threads = plan;
    all.barrierHook = hook;
    return all;
  }

  /// What the options ask for; contexts take turns.
  std::vector<BenchRun> allRuns(Runner &runner) const {
    std::vector<BenchRun> runs;
    for (uint64_t tokens : options.promptTokens)
      runs.push_back(runner.prefill(tokens));
    std::vector<std::vector<BenchRun>> decoded; // [batches][contexts]
    for (uint64_t batch : batches())
      decoded.push_back(runner.decode(options.contexts, batch));
    for (size_t context = 0; context < options.contexts.size(); ++context)
      for (std::vector<BenchRun> &ofBatch : decoded)
        runs.push_back(std::move(ofBatch[context]));
    return runs;
  }

  /// None when nothing is to be decoded.
  std::vector<uint64_t> batches() const {
    return options.generatedTokens == 0 ? std::vector<uint64_t>{} : options.batches;
  }

  std::shared_ptr<const Model> model;
  const BenchOptions &options;
  SessionOptions settings;
};

bool hasKernels(const Manifest &manifest, std::string_view part, std::string_view isa) {
  return std::any_of(manifest.kernels.begin(), manifest.kernels.end(), [&](const KernelUse &use) {
    return use.symbol.find(part) != std::string::npos && use.symbol.ends_with(isa);
  });
}

/// What most of the model's arithmetic is, by its kernels' names. Rows in bf16 are FMAs where there
/// is no instruction for them; mxfp4 times rows whose scales are powers of two is bf16 on tiles
/// (codegen/linear/AmxExactProduct.cpp).
DotKind productsOf(const Manifest &manifest) {
  if (hasKernels(manifest, "_mxfp4_q8_", "__amx") &&
      manifest.numerics.find("mxint8") != std::string::npos)
    return DotKind::Bf16;
  if (hasKernels(manifest, "_q8_", ""))
    return DotKind::Int8;
  const bool bf16 = hasKernels(manifest, "_bf16_bf16_", "__avx512bf16") ||
                    hasKernels(manifest, "_bf16_bf16_", "__amx");
  return bf16 ? DotKind::Bf16 : DotKind::F32;
}

BenchReport measureAll(const std::shared_ptr<const Model> &model, const BenchOptions &options) {
  const Bench bench(model, options);
  BenchReport report;
  report.cpu = hostMachine().cpuName;
  report.model = model->manifest().modelName;
  report.buildId =
      fmt::format("{:016x}{:016x}", model->code().build_id[1], model->code().build_id[0]);
  report.load = model->loadTimes();
  report.loadMode = model->loadChoice().mode;
  report.repeat = options.repeat, report.sameText = options.sameText;
  report.products = productsOf(model->manifest());
  for (const ThreadPlan &plan : planRuns(options))
    report.sweep.push_back(bench.measure(plan));
  std::vector<double> rates;
  for (const ThreadResult &result : report.sweep)
    rates.push_back(sweepRate(result));
  report.result = report.sweep[kneeOf(rates)];
  if (!options.sweep)
    report.sweep.clear();
  if (options.stages)
    report.stages = bench.stages(report.result.plan);
  report.peakMemory = peakMemoryText() + (options.roof ? " with what the roof reads" : "");
  return report;
}

} // namespace

int benchCommand(Arguments arguments, Output &out) {
  CLI::App app("", "infrun bench");
  BenchOptions options;
  BenchFlags flags;
  addOptions(app, options, flags);
  if (!parseArguments(app, help, std::move(arguments), out))
    return 0;
  finishOptions(options, flags);
  const ModelOptions load = {options.modelPath, options.threads, options.load,
                             options.numa,      options.verbose, flags.compile};
  const BenchReport report =
      measureAll(loadModel(load, planThreads(SystemRoot{}, options.threads), true), options);
  out.write(options.json ? benchJson(report) : benchText(report));
  return 0;
}

} // namespace inf
