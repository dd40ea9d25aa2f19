// What runners of a made-up model share: one group of blocks, and logits that are sure of one
// token.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "runtime/engine/StepRunner.h"

namespace inf::test {

class CachedRunner : public StepRunner {
public:
  CachedRunner(uint32_t blockTokens, const KvCacheOptions &options) {
    group.struct_bytes = sizeof group;
    group.block_tokens = blockTokens;
    group.slots = 1;
    group.slot_bytes = group.block_bytes = 64;
    cache.emplace(std::span(&group, 1), options);
  }
  KvCache &kv() override { return *cache; }
  std::span<const float> logits(uint32_t output) const override { return outputs.at(output); }

protected:
  void beginStep() { outputs.clear(); }
  /// The row has run; if it wants an output, that says `next`.
  void finishRow(const PlannedRow &row, size_t next) {
    cache->append(row.slot, {&row.token, 1});
    cache->commit(row.slot, cache->position(row.slot));
    if (row.output)
      outputs.emplace_back(facts().vocabulary, 0.0f)[next] = 1;
  }

private:
  inf_kv_group group = {};
  std::optional<KvCache> cache;
  std::vector<std::vector<float>> outputs;
};

} // namespace inf::test
