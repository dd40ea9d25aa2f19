// A sequence gives the same bits however it is fed, whoever runs beside it, on however many
// threads.
#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/e2e/Models.h"
#include "tests/e2e/Sessions.h"

using namespace inf;
using namespace inf::test;

namespace {

/// The prompt of 700 tokens, from the project's own data: these tests run in any clone.
std::vector<int32_t> longestPrompt() {
  std::ifstream file(INF_SOURCE_DIR "/tests/data/tokenizer/gpt_oss_tiny_prompts.jsonl");
  std::vector<int32_t> longest;
  for (std::string line; std::getline(file, line);) {
    auto ids = nlohmann::json::parse(line).at("ids").get<std::vector<int32_t>>();
    if (ids.size() > longest.size())
      longest = std::move(ids);
  }
  return longest;
}

/// What is rounded: nothing, as by default, or rows in bf16 too.
enum class Rounded { Nothing, Default, Bf16 };
struct Variant {
  const char *target;
  Rounded rounded;
};
std::string nameOfVariant(const testing::TestParamInfo<Variant> &variant) {
  const char *names[] = {"Exact", "Default", "Bf16"};
  return std::string(variant.param.target) + names[int(variant.param.rounded)];
}

class Invariance : public testing::TestWithParam<Variant> {
protected:
  void SetUp() override {
    SKIP_UNLESS_RUNS(GetParam().target);
    model = tiny();
    prompt = longestPrompt();
    ASSERT_EQ(prompt.size(), 700u);
  }
  /// With room for the whole prompt, and all its logits, in one step.
  std::string wideModel() const { return tiny({"--max-rows=700", "--max-output-rows=700"}); }
  std::string tiny(Arguments flags = {}) const {
    if (GetParam().rounded == Rounded::Nothing)
      return tinyExact(GetParam().target, flags);
    if (GetParam().rounded == Rounded::Bf16)
      flags.insert(flags.end(), {"--quant=none", "--activations=bf16"});
    return tinyDefault(GetParam().target, flags);
  }
  std::string model;
  std::vector<int32_t> prompt;
};

/// One of several sequences that take turns in the steps of a session.
struct Turn {
  std::vector<int32_t> tokens;
  size_t promptTokens; ///< the rest come one a step, as generated rows
  size_t fed = 0;
  AllLogits logits;
};

/// Lengths that differ and cross blocks, windows and key tiles.
std::vector<Turn> eightTurns(const std::vector<int32_t> &ids) {
  const size_t lengths[8] = {1, 17, 64, 100, 129, 150, 200, 210};
  std::vector<Turn> turns;
  for (size_t i = 0; i < 8; ++i) {
    const auto begin = ids.begin() + std::ptrdiff_t(i * 60);
    turns.push_back({{begin, begin + std::ptrdiff_t(lengths[i])}, lengths[i] * 2 / 3, 0, {}});
  }
  return turns;
}

struct Slot {
  uint32_t sequence;
  RowRequest row;
};

/// The rows that each sequence brings to the next step, still in turn.
std::vector<Slot> nextSlots(const std::vector<Turn> &turns) {
  std::vector<Slot> slots;
  for (uint32_t s = 0; s < turns.size(); ++s) {
    const Turn &turn = turns[s];
    const size_t left = turn.tokens.size() - turn.fed;
    const bool prompt = turn.fed < turn.promptTokens;
    // Chunks of a different length for each sequence.
    const size_t count = prompt ? std::min<size_t>(3 + 2 * s, turn.promptTokens - turn.fed)
                                : std::min<size_t>(1, left);
    for (size_t i = 0; i < count; ++i)
      slots.push_back({s,
                       {turn.tokens[turn.fed + i], s, prompt ? INF_ROW_PROMPT : INF_ROW_GENERATED,
                        INF_OUTPUT_LOGITS}});
  }
  return slots;
}

/// Deals the slots out one sequence after the other, so that rows of a sequence lie apart.
std::vector<RowRequest> interleaved(const std::vector<Slot> &slots) {
  std::vector<std::vector<RowRequest>> bySequence(8);
  for (const Slot &slot : slots)
    bySequence[slot.sequence].push_back(slot.row);
  std::vector<RowRequest> rows;
  for (size_t i = 0; rows.size() < slots.size(); ++i)
    for (const auto &own : bySequence)
      if (i < own.size())
        rows.push_back(own[i]);
  return rows;
}

void runTogether(Session &session, std::vector<Turn> &turns) {
  while (true) {
    const std::vector<RowRequest> rows = interleaved(nextSlots(turns));
    if (rows.empty())
      return;
    const StepResult result = session.step(rows);
    for (uint32_t r = 0; r < rows.size(); ++r) {
      Turn &turn = turns[rows[r].sequence];
      const auto logits = result.logits(r);
      turn.logits.insert(turn.logits.end(), logits.begin(), logits.end());
      ++turn.fed;
    }
  }
}

} // namespace

// Of the default, the kernels that differ most: each has its own tiles of rows.
INSTANTIATE_TEST_SUITE_P(
    Targets, Invariance,
    testing::Values(Variant{"avx2", Rounded::Nothing}, Variant{"avx512", Rounded::Nothing},
                    Variant{"avx2", Rounded::Default}, Variant{"icelake", Rounded::Default},
                    Variant{"avx2", Rounded::Bf16}, Variant{"znver4", Rounded::Bf16}),
    nameOfVariant);

TEST_P(Invariance, chunksAndLargestStepDoNotMatter) {
  const AllLogits whole = soloLogits(wideModel(), prompt); // one step of 700 rows
  EXPECT_TRUE(sameBits(whole, soloLogits(model, prompt, {}, 64)));
  EXPECT_TRUE(sameBits(whole, soloLogits(model, prompt, {}, 1)));
  EXPECT_TRUE(sameBits(whole, soloLogits(model, prompt, {}, 37))) << "no multiple of anything";
  const std::string narrow = tiny({"--max-rows=3", "--max-output-rows=3"});
  EXPECT_TRUE(sameBits(whole, soloLogits(narrow, prompt)));
}

TEST_P(Invariance, rowsThatWantNoLogitsDoNotMatter) {
  auto session = openSession(model);
  const auto last = session->prefill(0, prompt).logits; // steps of 256 rows, one of them an output
  const AllLogits all = soloLogits(model, prompt);
  EXPECT_TRUE(sameBits(last, std::span(all).last(last.size())));
}

TEST_P(Invariance, threadsDoNotMatter) {
  const AllLogits one = soloLogits(model, prompt);
  for (unsigned threads : {2u, 3u, 7u}) {
    SessionSetup setup;
    setup.threads = threads;
    EXPECT_TRUE(sameBits(one, soloLogits(model, prompt, setup))) << threads << " threads, chunks";
    // Few rows take another path through the step than many.
    const std::span few(prompt.data(), 40);
    EXPECT_TRUE(
        sameBits(std::span(one).first(40 * one.size() / 700), soloLogits(model, few, setup, 1)))
        << threads << " threads, one row at a time";
  }
}

TEST_P(Invariance, companionsDoNotMatter) {
  std::vector<Turn> turns = eightTurns(prompt);
  SessionSetup setup;
  setup.sequences = 8;
  setup.threads = 2;
  const std::string together = tiny({"--max-rows=128", "--max-output-rows=128"});
  runTogether(*openSession(together, setup), turns);
  for (size_t i = 0; i < turns.size(); ++i)
    EXPECT_TRUE(sameBits(turns[i].logits, soloLogits(model, turns[i].tokens))) << "sequence " << i;
}

TEST_P(Invariance, aSequencesPastInTheSameSlotDoesNotMatter) {
  const std::span few(prompt.data(), 200);
  auto session = openSession(model);
  const AllLogits fresh = prefillLogits(*session, 0, few);
  session->reset(0);
  prefillLogits(*session, 0, prompt);
  session->reset(0);
  EXPECT_TRUE(sameBits(fresh, prefillLogits(*session, 0, few)));
}
