// Contexts of several chunks of keys: few rows are split over their keys, many are not, and no bit
// tells which.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include <fmt/format.h>

#include "tests/e2e/CallCounters.h"
#include "tests/e2e/Models.h"
#include "tests/e2e/Sessions.h"
#include "tests/runtime/format/TestSupport.h"

using namespace inf;
using namespace inf::test;
using testing::HasSubstr;
using testing::Not;

namespace {

/// One kv head, so that two threads are enough for a split; a window across two and three chunks,
/// and one too short for a split.
constexpr char description[] = R"({
  "format": "inf-model", "version": 1, "name": "chunks", "architecture": "llama",
  "vocabulary": 512, "hidden": 64, "max_context": 4096, "norm_eps": 1e-5, "tied_embeddings": true,
  "ropes": {"plain": {"type": "default", "theta": 10000}},
  "blocks": {
    "full": {
      "attention": {"heads": 4, "kv_heads": 1, "head_dim": 16, "sinks": true, "rope": "plain"},
      "mlp": {"intermediate": 96}},
    "wide": {
      "attention": {"heads": 4, "kv_heads": 1, "head_dim": 16, "window": 1500, "rope": "plain"},
      "mlp": {"intermediate": 96}},
    "narrow": {
      "attention": {"heads": 4, "kv_heads": 2, "head_dim": 16, "window": 200, "rope": "plain"},
      "mlp": {"intermediate": 96}}},
  "layers": {"repeat": 1, "pattern": ["full", "wide", "narrow", "full"]},
  "stored": "f32",
  "tensors": {
    "embedding.weight": "e",
    "layers.{layer}.attention.norm.weight": "{layer}.an",
    "layers.{layer}.attention.q.weight": "{layer}.q",
    "layers.{layer}.attention.k.weight": "{layer}.k",
    "layers.{layer}.attention.v.weight": "{layer}.v",
    "layers.{layer}.attention.o.weight": "{layer}.o",
    "layers.{layer}.attention.sinks": "{layer}.s",
    "layers.{layer}.mlp.norm.weight": "{layer}.mn",
    "layers.{layer}.mlp.gate_up.weight": ["{layer}.g", "{layer}.u"],
    "layers.{layer}.mlp.down.weight": "{layer}.d",
    "final_norm.weight": "n"
  },
  "eos_tokens": [2]
})";

struct Variant {
  const char *target;
  bool exact;
};
std::string nameOfVariant(const testing::TestParamInfo<Variant> &variant) {
  return std::string(variant.param.target) + (variant.param.exact ? "Exact" : "Default");
}

constexpr uint64_t seed = 11;

std::vector<int32_t> tokens(size_t count) {
  std::vector<int32_t> ids;
  uint64_t state = seed;
  for (size_t i = 0; i < count; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    ids.push_back(int32_t(state >> 33) % 512);
  }
  return ids;
}

class LongContext : public testing::TestWithParam<Variant> {
protected:
  void SetUp() override {
    SKIP_UNLESS_RUNS(GetParam().target);
    writeBytes(folder / "chunks.json", std::string(description));
    const Finished done = compile({"-o", folder / "chunks.so", "--save-ir=" + folder / "ir"});
    ASSERT_EQ(done.code, 0) << done.err;
  }

  Finished compile(const Arguments &more) const {
    Arguments arguments = {"compile", folder / "chunks.json", "-q", "--weights=random:11",
                           "--no-tokenizer"};
    const Arguments flags = exactFlags(GetParam().target);
    arguments.insert(arguments.end(), flags.begin(),
                     GetParam().exact ? flags.end() : flags.begin() + 1);
    arguments.insert(arguments.end(), more.begin(), more.end());
    return infc(arguments);
  }

  std::unique_ptr<Session> open(unsigned threads, uint32_t sequences = 1) const {
    SessionSetup setup;
    setup.context = 4096;
    setup.sequences = sequences;
    setup.threads = threads;
    return openSession(folder / "chunks.so", setup);
  }

  TempFolder folder;
};

/// All but the last `few` in the largest steps, those in steps of `chunk` rows, with their logits.
AllLogits lastLogits(Session &session, std::span<const int32_t> ids, size_t few, uint32_t chunk) {
  session.prefill(0, ids.first(ids.size() - few));
  return prefillLogits(session, 0, ids.last(few), chunk);
}

/// A step for each token, with a row of every sequence that still has one.
std::vector<AllLogits> inStep(Session &session, const std::vector<std::vector<int32_t>> &sequences,
                              size_t steps) {
  std::vector<AllLogits> all(sequences.size());
  for (uint32_t s = 0; s < sequences.size(); ++s)
    session.prefill(s, std::span(sequences[s]).first(sequences[s].size() - steps));
  for (size_t step = 0; step < steps; ++step) {
    std::vector<RowRequest> rows;
    for (uint32_t s = 0; s < sequences.size(); ++s)
      rows.push_back({sequences[s][sequences[s].size() - steps + step], s, INF_ROW_GENERATED,
                      INF_OUTPUT_LOGITS});
    const StepResult result = session.step(rows);
    for (uint32_t s = 0; s < sequences.size(); ++s)
      all[s].insert(all[s].end(), result.logits(s).begin(), result.logits(s).end());
  }
  return all;
}

} // namespace

INSTANTIATE_TEST_SUITE_P(Targets, LongContext,
                         testing::Values(Variant{"avx2", true}, Variant{"avx512", true},
                                         Variant{"avx2", false}, Variant{"avx512", false}),
                         nameOfVariant);

TEST_P(LongContext, threadsDoNotMatter) {
  for (size_t length : {1040u, 2060u, 3090u}) { // the borders of chunks lie in what is compared
    const std::vector<int32_t> ids = tokens(length);
    const AllLogits one = lastLogits(*open(1), ids, 40, 1);
    for (unsigned threads : {2u, 3u, 5u})
      EXPECT_TRUE(sameBits(one, lastLogits(*open(threads), ids, 40, 1)))
          << length << " tokens, " << threads << " threads";
  }
}

TEST_P(LongContext, stepsOfAnyNumberOfRowsGiveTheSame) {
  const std::vector<int32_t> ids = tokens(2500);
  const AllLogits whole = lastLogits(*open(1), ids, 960, 64); // too many rows for a split
  for (uint32_t chunk : {1u, 3u, 8u, 9u, 37u})
    EXPECT_TRUE(sameBits(whole, lastLogits(*open(5), ids, 960, chunk))) << chunk << " rows";
}

TEST_P(LongContext, companionsDoNotMatter) {
  std::vector<std::vector<int32_t>> sequences;
  for (size_t length : {2500u, 21u, 1030u, 1024u, 4000u})
    sequences.push_back(tokens(length));
  for (unsigned threads : {2u, 5u}) {
    const std::vector<AllLogits> together = inStep(*open(threads, 5), sequences, 20);
    for (size_t s = 0; s < sequences.size(); ++s)
      EXPECT_TRUE(sameBits(together[s], lastLogits(*open(1), sequences[s], 20, 0)))
          << "sequence " << s << ", " << threads << " threads";
  }
}

TEST_P(LongContext, aSplitThatAHandTookAwayChangesNoBit) {
  std::string text;
  for (const auto &entry : std::filesystem::directory_iterator(folder / "ir"))
    if (entry.path().filename().string().ends_with("-partition.mlir")) {
      const std::vector<uint8_t> bytes = readBytes(entry.path().string());
      text.assign(bytes.begin(), bytes.end());
    }
  const std::string split = ", chunk_keys = 1024, split_rows = 8";
  ASSERT_THAT(text, HasSubstr(split));
  for (size_t at = text.find(split); at != std::string::npos; at = text.find(split))
    text.erase(at, split.size());
  writeBytes(folder / "edited.mlir", text);
  const Finished done =
      infc({"compile", folder / "edited.mlir", "-q", "--weights=random:11",
            std::string("--target=") + GetParam().target, "-o", folder / "edited.so"});
  ASSERT_EQ(done.code, 0) << done.err;
  EXPECT_THAT(infc({"explain", folder / "edited.so"}).out, Not(HasSubstr("chunks of 1024 keys")));
  SessionSetup setup;
  setup.context = 4096;
  setup.threads = 3;
  const std::vector<int32_t> ids = tokens(2100);
  EXPECT_TRUE(sameBits(lastLogits(*open(3), ids, 80, 1),
                       lastLogits(*openSession(folder / "edited.so", setup), ids, 80, 1)));
}

TEST_P(LongContext, explainAndInspectSayWhatIsSplit) {
  const std::string explained = infc({"explain", folder / "chunks.so"}).out;
  EXPECT_THAT(explained, HasSubstr("block full, inf.attention (steps of up to 8 rows may be split "
                                   "over chunks of 1024 keys)"));
  EXPECT_THAT(explained, HasSubstr("block wide, inf.attention (steps"));
  EXPECT_THAT(explained, Not(HasSubstr("block narrow, inf.attention (steps")));
  EXPECT_THAT(infc({"inspect", folder / "chunks.so"}).out, HasSubstr("attention#partials"));
}

TEST_P(LongContext, aSplitStepAllocatesNothingAndTakesNoLock) {
  if (!callsAreCounted())
    GTEST_SKIP() << "a sanitizer replaces malloc itself";
  const auto session = open(3);
  session->prefill(0, tokens(2040));
  const CallCounts before = callCounts();
  for (int i = 0; i < 16; ++i) {
    const RowRequest one = {7, 0, INF_ROW_GENERATED, INF_OUTPUT_LOGITS};
    session->step({&one, 1});
  }
  const CallCounts after = callCounts();
  EXPECT_EQ(after.allocations - before.allocations, 0u);
  EXPECT_EQ(after.frees - before.frees, 0u);
  EXPECT_EQ(after.locks - before.locks, 0u);
}
