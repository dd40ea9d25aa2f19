// infrun fill: adds weights to a model that was compiled without.
#include <optional>

#include <fmt/format.h>

#include "runtime/abi/inf_abi.h"
#include "runtime/format/Payload.h"
#include "runtime/tools/Commands.h"
#include "runtime/tools/ModelOptions.h"

namespace inf {
namespace {

constexpr std::string_view help =
    R"(Usage: infrun fill SMALL.so --random SEED -o BIG.so
Adds random weights to a model compiled without weights: the same seed gives the
same file everywhere, so speed can be measured without a checkpoint.
  --random SEED      seed of the weights
  -o, --output FILE  the file to write
  --threads N        default: physical cores allowed by affinity and quota
  --verbose          say which threads run and why
  --help             print this
Example: infrun fill small.so --random 1 -o big.so
)";

/// One line that is written over, on a terminal only.
Progress makeProgress() {
  if (!errorIsTerminal())
    return [](uint64_t, uint64_t) {};
  return [percent = uint64_t{101}](uint64_t done, uint64_t total) mutable {
    uint64_t now =
        total == 0
            ? 100
            : static_cast<uint64_t>(100.0 * static_cast<double>(done) / static_cast<double>(total));
    if (now == percent)
      return;
    percent = now;
    fmt::print(stderr, "\rinfrun: {:3d} % of {:.2f} GB{}", now, static_cast<double>(total) / 1e9,
               done == total ? "\n" : "");
  };
}

} // namespace

int fillCommand(Arguments arguments, Output &out) {
  CLI::App app("", "infrun fill");
  ModelOptions model;
  uint64_t seed = 0;
  std::string outPath;
  addModelOptions(app, model);
  app.add_option("--random", seed)->required();
  app.add_option("-o,--output", outPath)->required();
  if (!parseArguments(app, help, std::move(arguments), out))
    return 0;

  PayloadInfo info = readPayloadInfo(model.path, INF_ABI_VERSION);
  std::vector<WeightDecl> decls;
  for (const PackedWeight &weight : info.manifest.weights)
    decls.push_back(weight.decl);
  std::unique_ptr<WeightSource> source = makeRandomSource(seed, decls);
  ThreadPlan plan = chooseThreads(model.threads, model.verbose);
  fillModel(model.path, *source, outPath, INF_ABI_VERSION, plan.threads, makeProgress());
  return 0;
}

} // namespace inf
