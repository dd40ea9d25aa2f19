// Single decisions, one at a time.
#include <gtest/gtest.h>

#include "runtime/base/Error.h"
#include "runtime/scheduler/Scheduler.h"

using namespace inf;

namespace {

/// One group of blocks of 8 tokens, 64 bytes each.
class Policy : public testing::Test {
protected:
  void SetUp() override {
    options.requests = 4;
    options.stepTokens = options.stepOutputs = 16;
  }
  void open(uint32_t sequences, uint32_t context, uint64_t blocks) {
    group.struct_bytes = sizeof group;
    group.block_tokens = 8;
    group.slots = 1;
    group.slot_bytes = group.block_bytes = 64;
    KvCacheOptions cache;
    cache.sequences = sequences;
    cache.context = context;
    cache.maxRows = options.stepTokens;
    cache.bytes = blocks * 64;
    cache.prefixes = prefixes;
    kv.emplace(std::span(&group, 1), cache);
    options.context = context;
    options.growthTokens = 0;
    scheduler = std::make_unique<Scheduler>(options, *kv);
  }
  void add(uint64_t id, uint32_t prompt, uint32_t maxTokens,
           RequestPriority priority = RequestPriority::Normal) {
    ScheduledRequest request;
    request.id = id;
    request.prompt.assign(prompt, int32_t(id));
    request.maxTokens = maxTokens;
    request.priority = priority;
    scheduler->add(request, now);
  }
  /// Runs a step; every row that wants logits gets token 7. The requests in it.
  std::vector<uint64_t> step(double seconds = 0.1) {
    const StepPlan &plan = scheduler->plan(now);
    for (const PlannedRow &row : plan.rows)
      kv->append(row.slot, {&row.token, 1});
    for (const PlannedPart &part : plan.parts)
      kv->commit(part.slot, part.first + part.count);
    std::vector<PlannedPart> parts = plan.parts;
    rows = plan.rows.size();
    scheduler->ran(seconds);
    now += seconds;
    std::vector<uint64_t> ran;
    for (const PlannedPart &part : parts) {
      ran.push_back(part.request);
      if (part.outputs != 0 && !scheduler->progress(part.request).done())
        scheduler->accept(part.request, 7);
      if (part.outputs != 0 && scheduler->progress(part.request).done())
        scheduler->remove(part.request);
    }
    return ran;
  }
  ErrorCode refused(uint64_t id, uint32_t prompt) {
    try {
      add(id, prompt, 1);
    } catch (const Error &error) {
      return error.code;
    }
    return ErrorCode::Internal;
  }

  SchedulerOptions options;
  bool prefixes = false;
  inf_kv_group group = {};
  std::optional<KvCache> kv;
  std::unique_ptr<Scheduler> scheduler;
  double now = 0;
  size_t rows = 0;
};

using Ids = std::vector<uint64_t>;

} // namespace

TEST_F(Policy, promptsBeyondContextOrMemoryAreRefusedBeforeAnythingRuns) {
  open(2, 64, 4);
  EXPECT_EQ(scheduler->capacity(), 32u) << "4 blocks of 8";
  EXPECT_EQ(refused(1, 33), ErrorCode::TooLong);
  EXPECT_EQ(refused(2, 0), ErrorCode::Usage);
  EXPECT_EQ(scheduler->counts().waiting, 0u);
  add(3, 32, 100);
  EXPECT_EQ(scheduler->progress(3).mostTokens, 1u) << "no place for a second one";
}

TEST_F(Policy, aFullQueueRefuses) {
  open(1, 64, 8);
  for (uint64_t id = 1; id <= 4; ++id)
    add(id, 4, 1);
  EXPECT_EQ(refused(5, 4), ErrorCode::Usage);
  EXPECT_EQ(refused(4, 4), ErrorCode::Usage);
}

TEST_F(Policy, streamsGoOnWhileALongPromptArrives) {
  open(2, 128, 32);
  add(1, 4, 50);
  step();
  step();
  add(2, 100, 5);
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(step(), (Ids{1, 2}));
    EXPECT_LE(rows, options.stepTokens);
  }
}

TEST_F(Policy, interactiveGoesFirstUntilTheOtherHasWaitedLong) {
  options.ageSeconds = 10;
  open(1, 64, 8);
  add(1, 4, 1, RequestPriority::Normal);
  now = 5;
  add(2, 4, 1, RequestPriority::Interactive);
  EXPECT_EQ(step(), Ids{2});
  EXPECT_EQ(step(), Ids{1});
  add(3, 4, 1, RequestPriority::Normal);
  now += 11;
  add(4, 4, 1, RequestPriority::Interactive);
  EXPECT_EQ(step(), Ids{3});
}

TEST_F(Policy, theYoungestOfTheLowestClassGivesMemoryUpAndComesBackWithAllItsTokens) {
  options.stepTokens = 32;
  open(2, 64, 4); // 32 tokens for both
  add(1, 14, 18);
  add(2, 15, 12);
  Ids last;
  while (scheduler->counts().preemptions == 0)
    last = step();
  RequestProgress second = scheduler->progress(2);
  EXPECT_FALSE(second.slot) << "the younger one waits";
  EXPECT_GT(second.generated, 0u);
  uint32_t generated = second.generated;
  while (scheduler->counts().running == 1 && scheduler->counts().waiting == 1)
    step();
  EXPECT_EQ(step(), Ids{2}) << "the first has ended";
  EXPECT_GE(rows, 15u + generated) << "prompt and answer run again, at once";
}

TEST_F(Policy, interactiveTakesTheSlotOfBatch) {
  open(1, 64, 8);
  add(1, 4, 20, RequestPriority::Batch);
  step();
  add(2, 4, 2, RequestPriority::Interactive);
  EXPECT_EQ(step(), Ids{2});
  EXPECT_EQ(step(), Ids{2});
  EXPECT_EQ(step(), Ids{1});
  EXPECT_EQ(scheduler->counts().preemptions, 1u);
}

TEST_F(Policy, stepsTooSmallForTheSequencesAreRefused) {
  options.stepTokens = 2;
  EXPECT_THROW(open(3, 64, 8), Error);
}

TEST_F(Policy, lateRequestsAreNamedUntilRemoved) {
  open(1, 64, 8);
  ScheduledRequest request;
  request.id = 9;
  request.prompt = {1};
  request.expiry = 2.0;
  scheduler->add(request, 0);
  EXPECT_TRUE(scheduler->expired(1.9).empty());
  EXPECT_EQ(scheduler->expired(2.0), Ids{9});
  EXPECT_TRUE(scheduler->remove(9));
  EXPECT_FALSE(scheduler->remove(9));
  EXPECT_TRUE(scheduler->expired(3).empty());
}

TEST_F(Policy, aStartSentBackForMemoryIsNoLookupOfItsPrefix) {
  prefixes = true;
  options.stepTokens = options.stepOutputs = 64;
  open(2, 64, 8);
  add(1, 32, 1);
  step();
  add(2, 36, 8); // holds 5 of the 8 blocks
  step();
  ScheduledRequest again;
  again.id = 3;
  again.prompt.assign(32, 1); // finds blocks that nobody holds: with them there are too many
  scheduler->add(again, now);
  EXPECT_EQ(step(), Ids{2});
  EXPECT_GT(kv->stats().lookupTokens, 32u + 36u) << "it was tried";
  EXPECT_EQ(scheduler->counts().prefixLookupTokens, 32u + 36u);
  EXPECT_EQ(scheduler->counts().prefixHitTokens, 0u);
  while (scheduler->has(3))
    step();
  EXPECT_EQ(scheduler->counts().prefixLookupTokens, 32u + 36u + 32u);
  EXPECT_GT(scheduler->counts().prefixHitTokens, 0u);
}
