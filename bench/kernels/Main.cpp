// Every kernel of the table that this machine can run, in memory and from cache, beside the roof.
#include <charconv>
#include <cstdio>
#include <exception>
#include <optional>
#include <string>
#include <string_view>

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include "bench/kernels/Measure.h"
#include "runtime/base/Error.h"
#include "runtime/cpu/ThreadPlan.h"

namespace inf::bench {
namespace {

constexpr std::string_view threadsFlag = "--inf_threads=";

/// Takes our own flag out of the arguments; Google Benchmark refuses what it does not know.
std::optional<unsigned> takeThreads(int &argc, char **argv) {
  std::optional<unsigned> threads;
  int kept = 1;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (!argument.starts_with(threadsFlag)) {
      argv[kept++] = argv[i];
      continue;
    }
    const std::string_view text = argument.substr(threadsFlag.size());
    unsigned count = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
    if (error != std::errc() || end != text.data() + text.size())
      fail(ErrorCode::Usage, "{}: expected a number of threads", argument);
    threads = count;
  }
  argc = kept;
  return threads;
}

/// The plainest kernel of a row of the table: no epilogue; attention as gpt-oss has it.
KernelSpec specOf(const KernelChoice &choice) {
  KernelSpec spec;
  spec.op = choice.op;
  spec.isa = choice.isa;
  if (choice.op == KernelOp::Attention) {
    spec.kv = choice.format;
    spec.inputs = choice.inputs;
    spec.order = choice.order;
    spec.headDim = 64;
    spec.group = 8;
    spec.sinks = true;
    return spec;
  }
  spec.weights = choice.format;
  spec.inputs = choice.inputs;
  spec.rows = choice.rows;
  spec.order = choice.order;
  return spec;
}

/// Why a kernel isn't measured here; nullopt when it is.
std::optional<std::string> whyNot(const KernelSpec &spec, const Machine &machine) {
  if (const auto reason = whyNotGenerable(spec))
    return *reason;
  const FeatureSet missing = machine.usable.missing(kernelFeatures(spec));
  if (!missing.empty())
    return "this CPU lacks " + missing.toString();
  return std::nullopt;
}

template <typename Make> void add(const std::string &name, Machine &machine, Make make) {
  benchmark::RegisterBenchmark(name.c_str(), [&machine, make](benchmark::State &state) {
    const std::unique_ptr<Work> work = make();
    measure(state, machine, *work);
  })->UseRealTime();
}

void addLinear(const KernelSpec &spec, Machine &machine) {
  for (unsigned rows : {1u, 4u, 16u})
    add(fmt::format("{}/memory/rows:{}", kernelSymbol(spec), rows), machine,
        [spec, rows, &machine] { return makeLinearWork(spec, rows, Source::Memory, machine); });
  add(fmt::format("{}/cache/rows:64", kernelSymbol(spec)), machine,
      [spec, &machine] { return makeLinearWork(spec, 64, Source::Cache, machine); });
}

void addAttention(const KernelSpec &spec, Machine &machine) {
  for (const auto &[name, source] : {std::pair{"memory", Source::Memory}, {"cache", Source::Cache}})
    add(fmt::format("{}/{}", kernelSymbol(spec), name), machine,
        [spec, from = source, &machine] { return makeAttentionWork(spec, from, machine); });
}

void addAll(Machine &machine) {
  for (const KernelChoice &choice : kernelTable()) {
    const KernelSpec spec = specOf(choice);
    if (const auto reason = whyNot(spec, machine)) {
      fmt::print(stderr, "not measured: {}: {}\n", kernelSymbol(spec), *reason);
      continue;
    }
    choice.op == KernelOp::Linear ? addLinear(spec, machine) : addAttention(spec, machine);
  }
}

int run(int argc, char **argv) {
  const ThreadPlan plan = planThreads(SystemRoot{}, takeThreads(argc, argv));
  Machine machine(plan.threads);
  fmt::print(stderr, "{} threads; memory: {} MiB, several times the caches\n", plan.threads,
             machine.bandwidth.anonymousBytes() >> 20);
  addAll(machine);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv))
    return static_cast<int>(ErrorCode::Usage);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}

} // namespace
} // namespace inf::bench

int main(int argc, char **argv) {
  try {
    return inf::bench::run(argc, argv);
  } catch (const inf::Error &error) {
    fmt::print(stderr, "bench_kernels: error: {}\n", error.what());
    return static_cast<int>(error.code);
  } catch (const std::exception &error) {
    fmt::print(stderr, "bench_kernels: error: {}\n", error.what());
    return static_cast<int>(inf::ErrorCode::Internal);
  }
}
