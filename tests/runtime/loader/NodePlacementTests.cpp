// Weights on the NUMA node of the threads that read them: the plan against the cut of a step,
// recomputed byte by byte, and copies that follow it.
#include <map>
#include <numeric>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/cpu/Affinity.h"
#include "runtime/format/Pack.h"
#include "runtime/loader/NodePlacement.h"
#include "runtime/loader/WeightMemory.h"
#include "tests/runtime/format/TestSupport.h"
#include "tests/runtime/session/FakeModel.h"

using namespace inf;
using namespace inf::test;
using testing::HasSubstr;

namespace {

PackedWeight weightOf(const std::string &name, uint64_t experts, uint64_t rows, uint64_t columns,
                      PackedSpec spec) {
  PackedWeight weight;
  weight.decl.name = name;
  weight.decl.experts = experts;
  weight.decl.rows = rows;
  weight.decl.columns = columns;
  WeightPart part;
  part.rows = rows;
  part.tensor = name;
  weight.decl.parts = {part};
  weight.spec = spec;
  return weight;
}

/// A layer with experts between an embedding and a head.
Manifest someManifest() {
  constexpr PackedSpec int8 = {WeightFormat::INT8, PackedLayout::Panel16};
  constexpr PackedSpec pairs = {WeightFormat::INT4, PackedLayout::Panel16Pairs};
  Manifest manifest;
  manifest.weights = {
      weightOf("embedding.weight", 1, 100, 64, {WeightFormat::BF16, PackedLayout::Rows}),
      weightOf("layers.0.attention.norm.weight", 1, 64, 1, {}),
      weightOf("layers.0.attention.qkv.weight", 1, 192, 64, int8),
      weightOf("layers.0.attention.o.weight", 1, 64, 128, int8),
      weightOf("layers.0.moe.gate_up.weight", 5, 320, 64, pairs),
      weightOf("layers.0.moe.down.weight", 5, 64, 160, int8),
      weightOf("lm_head.weight", 1, 1000, 64, int8),
  };
  layoutWeights(manifest);
  return manifest;
}

/// The thread that reads a unit of `count`, by the rule of the step itself.
unsigned readerOf(uint64_t unit, uint64_t count, unsigned threads) {
  unsigned thread = 0;
  while (unit >= count * (thread + 1) / threads)
    ++thread;
  return thread;
}

/// For each byte of the weights the node that reads it, -1 for those that no product reads.
std::vector<int> readersByByte(const Manifest &manifest, std::span<const int> threadNodes) {
  std::vector<int> nodes(manifest.weightsBytes, -1);
  const auto threads = static_cast<unsigned>(threadNodes.size());
  for (const PackedWeight &weight : manifest.weights) {
    if (weight.spec.layout != PackedLayout::Panel16 &&
        weight.spec.layout != PackedLayout::Panel16Pairs)
      continue;
    const PackUnits units = packUnits(weight.decl, weight.spec);
    const uint64_t perExpert = units.count / weight.decl.experts;
    for (uint64_t unit = 0; unit < units.count; ++unit) {
      const unsigned thread = readerOf(unit % perExpert, perExpert, threads);
      const auto first = nodes.begin() + std::ptrdiff_t(weight.offset + unit * units.unitBytes);
      std::fill(first, first + std::ptrdiff_t(units.unitBytes), threadNodes[thread]);
    }
  }
  return nodes;
}

} // namespace

TEST(NodePlacement, onOneNodeThereIsNothingToPlace) {
  EXPECT_TRUE(placeWeights(someManifest(), std::vector<int>{0, 0, 0}, 4096).runs.empty());
  EXPECT_TRUE(placeWeights(someManifest(), {}, 4096).runs.empty());
}

TEST(NodePlacement, everyPageLiesWhereMostOfItIsRead) {
  const Manifest manifest = someManifest();
  constexpr uint64_t page = 1024;
  for (const std::vector<int> &nodes :
       {std::vector<int>{0, 1}, {0, 0, 0, 1, 1}, {3, 3, 1, 1, 2, 2, 2}, {0, 1, 0, 1}}) {
    const NodePlacement placement = placeWeights(manifest, nodes, page);
    const std::vector<int> readers = readersByByte(manifest, nodes);
    uint64_t end = 0, local = 0, remote = 0;
    for (const NodeRun &run : placement.runs) {
      ASSERT_EQ(run.offset, end) << "runs follow each other without a gap";
      end += run.bytes;
      ASSERT_TRUE(end % page == 0 || end == manifest.weightsBytes);
      for (uint64_t at = run.offset; at < end; at += page) {
        std::map<int, uint64_t> bytes;
        for (uint64_t i = at; i < std::min(at + page, end); ++i)
          if (readers[i] >= 0)
            ++bytes[readers[i]];
        for (const auto &[node, count] : bytes) {
          EXPECT_LE(count, bytes[run.node]) << "page at " << at << " of " << nodes.size();
          (node == run.node ? local : remote) += count;
        }
      }
    }
    EXPECT_EQ(end, manifest.weightsBytes);
    EXPECT_EQ(placement.localBytes, local);
    EXPECT_EQ(placement.remoteBytes, remote);
    EXPECT_GT(local, remote);
  }
}

TEST(NodePlacement, everyNodeGetsItsShare) {
  std::map<int, uint64_t> bytes;
  const std::vector<int> nodes = {0, 0, 1, 1};
  for (const NodeRun &run : placeWeights(someManifest(), nodes, 1024).runs)
    bytes[run.node] += run.bytes;
  ASSERT_EQ(bytes.size(), 2u);
  EXPECT_LT(std::abs(double(bytes[0]) - double(bytes[1])) / double(bytes[0] + bytes[1]), 0.15);
}

TEST(NodePlacement, aPlacedCopyHoldsTheSameBytesAndTheKernelKnowsWhere) {
  TempFolder folder;
  std::vector<uint8_t> weights((uint64_t{40} << 20) + 123); // several chunks of the copy
  for (size_t i = 0; i < weights.size(); ++i)
    weights[i] = uint8_t(i * 7 + i / 4096);
  writeBytes(folder / "w", weights);
  const WeightPlace place = {folder / "w", 0, weights.size(), weights.size()};
  constexpr uint64_t huge = uint64_t{2} << 20;
  const std::vector<NodeRun> runs = {
      {0, 3 * huge, 0}, {3 * huge, 9 * huge, 1}, {12 * huge, weights.size() - 12 * huge, 0}};
  // Nodes of the test's making: all on CPUs we may use.
  const CpuList allowed = currentAffinity().value();
  const std::vector<CopyCpu> cpus = {{allowed.front(), 0}, {allowed.back(), 1}};
  uint64_t told = 0;
  const WeightMemory memory = WeightMemory::copyToNodes(
      place, runs, cpus, false, [&](uint64_t done, uint64_t) { told = done; });
  ASSERT_EQ(memory.bytes().size(), weights.size());
  EXPECT_TRUE(std::equal(weights.begin(), weights.end(), memory.bytes().begin()));
  EXPECT_EQ(told, weights.size());
  uint64_t counted = 0;
  for (const NodeCount &count : countNodes(memory.bytes(), huge)) {
    EXPECT_GE(count.node, 0) << "a page that was never written";
    counted += count.bytes;
  }
  EXPECT_EQ(counted, weights.size());
}

TEST(NodePlacement, aCpuThatMayNotBeUsedIsNamed) {
  TempFolder folder;
  writeBytes(folder / "w", std::vector<uint8_t>(5000));
  const WeightPlace place = {folder / "w", 0, 5000, 5000};
  const std::vector<NodeRun> runs = {{0, 5000, 0}};
  const std::vector<CopyCpu> cpus = {{100'000, 0}};
  EXPECT_THAT(refusal([&] { WeightMemory::copyToNodes(place, runs, cpus, false, {}); }),
              HasSubstr("3: cannot bind a thread that copies weights to CPU 100000"));
}

TEST(NodePlacement, aModelIsPlacedOnlyWhenItIsCopied) {
  TempDirectory directory;
  writeFakeModel(directory.file("fake.so"));
  LoadOptions load;
  load.cpus = {{currentAffinity()->front(), 0}, {currentAffinity()->back(), 1}};
  load.mode = LoadMode::Copy;
  const auto placed = Model::load(directory.file("fake.so"), load);
  EXPECT_FALSE(placed->nodePlacement().runs.empty());
  load.mode = LoadMode::Map;
  const auto mapped = Model::load(directory.file("fake.so"), load);
  EXPECT_TRUE(mapped->nodePlacement().runs.empty());
  EXPECT_TRUE(std::equal(mapped->weights().begin(), mapped->weights().end(),
                         placed->weights().begin(), placed->weights().end()));
}
