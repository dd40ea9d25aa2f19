#include "runtime/tools/ModelOptions.h"

#include <algorithm>

#include <fmt/format.h>

#include "runtime/cpu/Memory.h"
#include "runtime/cpu/SystemRoot.h"
#include "runtime/cpu/ThreadPlan.h"
#include "runtime/jit/Jit.h"

namespace inf {

void addModelOptions(CLI::App &app, ModelOptions &options) {
  app.add_option("model", options.path, "compiled model")->required();
  app.add_option("--threads", options.threads);
  app.add_flag("--verbose", options.verbose);
}

void addLoadOption(CLI::App &app, ModelOptions &options) {
  app.add_option("--load", options.load);
  app.add_option("--numa", options.numa)->check(CLI::IsMember({"auto", "off", "report"}));
}

ThreadPlan chooseThreads(std::optional<unsigned> requested, bool verbose) {
  ThreadPlan plan = planThreads(SystemRoot{}, requested);
  for (const std::string &warning : plan.warnings)
    notice("warning: " + warning);
  if (verbose)
    notice(fmt::format("{} threads: {}", plan.threads, plan.reason));
  return plan;
}

namespace {

/// Where each thread will read weights; empty when threads may wander or share CPUs.
std::vector<CopyCpu> readersOf(const ThreadPlan &plan) {
  std::vector<CopyCpu> readers;
  if (plan.pin && plan.cpus.size() == plan.threads)
    for (size_t i = 0; i < plan.cpus.size(); ++i)
      readers.push_back({plan.cpus[i], plan.nodes[i]});
  return readers;
}

double gigabytes(uint64_t bytes) { return static_cast<double>(bytes) / 1e9; }

/// What was planned and where the kernel says the pages are.
void reportNodes(const Model &model) {
  const NodePlacement &placement = model.nodePlacement();
  if (placement.runs.empty())
    notice(model.loadChoice().mode == LoadMode::Map
               ? "numa: mapped weights are not placed; --load=copy does"
               : "numa: nothing to place: the threads are on one node, or not bound");
  else
    notice(fmt::format("numa: of the weights that a step of all experts reads, {:.3f} GB are local "
                       "to their threads by plan, {:.3f} GB remote",
                       gigabytes(placement.localBytes), gigabytes(placement.remoteBytes)));
  constexpr uint64_t hugePage = uint64_t{2} << 20;
  for (const NodeCount &count : countNodes(model.weights(), hugePage))
    notice(count.node < 0
               ? fmt::format("numa: {:.3f} GB of weights not in memory yet", gigabytes(count.bytes))
               : fmt::format("numa: {:.3f} GB of weights on node {}", gigabytes(count.bytes),
                             count.node));
}

} // namespace

std::shared_ptr<const Model> loadModel(const ModelOptions &options, const ThreadPlan &plan,
                                       bool runsForLong) {
  checkCompileFlags(options.compile, options.path);
  LoadOptions load;
  load.runsForLong = runsForLong;
  load.mode = parseLoadMode(options.load);
  load.threads = plan.threads;
  if (options.numa != "off")
    load.cpus = readersOf(plan);
  if (errorIsTerminal())
    load.progress = [](uint64_t done, uint64_t total) {
      fmt::print(stderr, "\rcopying weights {:3} %{}", done * 100 / total,
                 done == total ? "\r\033[K" : "");
    };
  std::shared_ptr<const Model> model =
      isModelSource(options.path)
          ? compileAndLoad(jitOptions(options.compile, options.path, load, options.verbose))
          : Model::load(options.path, load);
  if (!model->loadChoice().warning.empty())
    notice("warning: " + model->loadChoice().warning);
  if (options.verbose)
    notice(fmt::format("weights {}", model->loadChoice().reason));
  if (options.numa == "report")
    reportNodes(*model);
  return model;
}

std::unique_ptr<Session> makeSession(std::shared_ptr<const Model> model, uint64_t context,
                                     const ThreadPlan &plan, SessionOptions wanted) {
  wanted.context = cappedContext(*model, context);
  wanted.threads = plan;
  return std::make_unique<Session>(std::move(model), wanted);
}

uint32_t cappedContext(const Model &model, uint64_t wanted) {
  return static_cast<uint32_t>(std::min<uint64_t>(wanted, model.code().max_context));
}

std::string peakMemoryText() {
  std::optional<uint64_t> bytes = peakResidentBytes();
  return bytes ? fmt::format("{:.2f} GB", static_cast<double>(*bytes) / 1e9) : "unknown";
}

} // namespace inf
