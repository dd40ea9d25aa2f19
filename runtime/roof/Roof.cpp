#include "runtime/roof/Roof.h"

#include "runtime/roof/CacheSize.h"

#include <algorithm>

namespace inf {
namespace {

FeatureSet machineFeatures() { return detectFeatures(hostCpuid()).usable; }

Peak peakOf(std::vector<double> rates) {
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
    : pool(threadPool), int8Loop(int8DotLoop(machineFeatures())),
      f32Loop(f32DotLoop(machineFeatures())),
      bandwidth(threadPool, payload, lastLevelCacheBytes().value_or(0), machineFeatures()) {}

double Roof::lastBandwidth() const {
  if (samples.empty())
    return 0;
  const auto &rates = samples.back().bandwidth;
  return *std::max_element(rates.begin(), rates.end());
}

void Roof::sample() {
  Sample sample;
  for (unsigned kind = 0; kind < readKinds; ++kind)
    sample.bandwidth[kind] = bandwidth.measure(static_cast<ReadKind>(kind));
  sample.int8Operations = measureDotPeak(pool, int8Loop);
  sample.f32Operations = measureDotPeak(pool, f32Loop);
  samples.push_back(sample);
}

RoofReport Roof::report() const {
  RoofReport report;
  std::vector<double> fastest, int8, f32;
  for (const Sample &sample : samples) {
    fastest.push_back(*std::max_element(sample.bandwidth.begin(), sample.bandwidth.end()));
    int8.push_back(sample.int8Operations);
    f32.push_back(sample.f32Operations);
    for (unsigned kind = 0; kind < readKinds; ++kind)
      report.byLoop[kind] = std::max(report.byLoop[kind], sample.bandwidth[kind]);
  }
  report.samples = samples.size();
  report.bandwidth = peakOf(std::move(fastest));
  report.int8Operations = peakOf(std::move(int8));
  report.f32Operations = peakOf(std::move(f32));
  report.int8Loop = int8Loop.name;
  report.f32Loop = f32Loop.name;
  report.anonymousBytes = bandwidth.anonymousBytes();
  report.mappedBytes = bandwidth.mappedBytes();
  report.mappedFitsCache = bandwidth.mappedFitsCache();
  return report;
}

} // namespace inf
