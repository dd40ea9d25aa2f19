#include "runtime/roof/Roof.h"

#include "runtime/roof/CacheSize.h"

#include <algorithm>

namespace inf {
namespace {

FeatureSet machineFeatures() { return detectFeatures(hostCpuid()).usable; }

Peak peakOfRates(std::vector<double> rates) {
  if (rates.empty())
    return {};
  const double best = *std::max_element(rates.begin(), rates.end());
  return {best, median(std::move(rates))};
}

} // namespace

double median(std::vector<double> values) {
  if (values.empty())
    return 0;
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  return values.size() % 2 ? values[half] : (values[half - 1] + values[half]) / 2;
}

Roof::Roof(ThreadPool &threadPool, const ByteSpans &payload)
    : pool(threadPool), loops(dotLoops(machineFeatures())),
      bandwidth(threadPool, payload, lastLevelCacheBytes().value_or(0), machineFeatures()) {}

void RoofRates::joinBetter(const RoofRates &other) {
  bandwidth = std::max(bandwidth, other.bandwidth);
  for (size_t kind = 0; kind < dotKinds; ++kind)
    operations[kind] = std::max(operations[kind], other.operations[kind]);
}

RoofRates Roof::last() const {
  if (samples.empty())
    return {};
  const Sample &sample = samples.back();
  return {*std::max_element(sample.bandwidth.begin(), sample.bandwidth.end()), sample.operations};
}

void Roof::sample() {
  Sample sample;
  for (unsigned kind = 0; kind < readKinds; ++kind)
    sample.bandwidth[kind] = bandwidth.measure(static_cast<ReadKind>(kind));
  for (size_t kind = 0; kind < dotKinds; ++kind)
    sample.operations[kind] = measureDotPeak(pool, loops[kind]);
  samples.push_back(sample);
}

RoofReport Roof::report() const {
  RoofReport report;
  std::vector<double> fastest;
  std::array<std::vector<double>, dotKinds> operations;
  for (const Sample &sample : samples) {
    fastest.push_back(*std::max_element(sample.bandwidth.begin(), sample.bandwidth.end()));
    for (size_t kind = 0; kind < dotKinds; ++kind)
      operations[kind].push_back(sample.operations[kind]);
    for (unsigned kind = 0; kind < readKinds; ++kind)
      report.byLoop[kind] = std::max(report.byLoop[kind], sample.bandwidth[kind]);
  }
  report.samples = samples.size();
  report.bandwidth = peakOfRates(std::move(fastest));
  for (size_t kind = 0; kind < dotKinds; ++kind) {
    report.operations[kind] = peakOfRates(std::move(operations[kind]));
    report.loops[kind] = loops[kind].name;
  }
  report.anonymousBytes = bandwidth.anonymousBytes();
  report.mappedBytes = bandwidth.mappedBytes();
  report.mappedFitsCache = bandwidth.mappedFitsCache();
  return report;
}

} // namespace inf
