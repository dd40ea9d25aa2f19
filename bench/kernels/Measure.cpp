#include "bench/kernels/Measure.h"

#include <algorithm>
#include <chrono>

namespace inf::bench {
namespace {

RoofSample better(const RoofSample &a, const RoofSample &b) {
  RoofSample sample;
  sample.bandwidth = std::max(a.bandwidth, b.bandwidth);
  for (size_t kind = 0; kind < dotKinds; ++kind)
    sample.operations[kind] = std::max(a.operations[kind], b.operations[kind]);
  return sample;
}

double percentOf(double rate, double roof) { return roof > 0 ? rate / roof * 100 : 0; }

} // namespace

void measure(benchmark::State &state, Machine &machine, Work &work) {
  auto pass = [](void *arg, unsigned thread) { static_cast<Work *>(arg)->run(thread); };
  machine.pool.run(pass, &work); // pages, caches, clock
  const RoofSample before = machine.sampleRoof();
  const auto start = std::chrono::steady_clock::now();
  for (auto _ : state)
    machine.pool.run(pass, &work);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  const RoofSample roof = better(before, machine.sampleRoof());

  const double passes = static_cast<double>(state.iterations()) / seconds.count();
  const double bytes = static_cast<double>(work.bytes()) * passes;
  const double operations = static_cast<double>(work.operations()) * passes;
  state.counters["GB/s"] = bytes / 1e9;
  state.counters["%bandwidth"] = percentOf(bytes, roof.bandwidth);
  state.counters["TOP/s"] = operations / 1e12;
  state.counters["%compute"] =
      percentOf(operations, roof.operations[static_cast<size_t>(work.products())]);
}

} // namespace inf::bench
