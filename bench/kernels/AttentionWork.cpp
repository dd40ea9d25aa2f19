#include <algorithm>
#include <numeric>
#include <vector>

#include "bench/kernels/Work.h"
#include "codegen/KernelArgs.h"
#include "tests/codegen/ExecutableKernel.h"

namespace inf::bench {
namespace {

constexpr uint64_t memoryKeys = 4096, cacheKeys = 1024;

class AttentionWork : public Work {
public:
  AttentionWork(const KernelSpec &kernelSpec, Source source, const Machine &machine)
      : spec(kernelSpec), kernel(kernelSpec),
        keys(source == Source::Memory ? memoryKeys : cacheKeys),
        blockBytes(2 * weightBytes(spec.kv, uint64_t{spec.blockTokens} * spec.headDim)),
        headBytes(keys / spec.blockTokens * blockBytes), threads(machine.pool.size()),
        table(keys / spec.blockTokens), queries(uint64_t{spec.group} * spec.headDim, 0.01f),
        sinks(spec.group, 0.5f) {
    heads = source == Source::Memory ? machine.memory.share(0).size() / headBytes : 1;
    std::iota(table.begin(), table.end(), 0);
    for (unsigned t = 0; t < threads; ++t) {
      memory.push_back(machine.memory.share(t).data());
      outputs.emplace_back(queries.size());
    }
  }

  void run(unsigned thread) override {
    AttentionArgs args = {};
    args.q = queries.data();
    args.out = outputs[thread].data();
    args.blockTable = table.data();
    args.blockBytes = static_cast<int64_t>(blockBytes);
    args.valueOffset = static_cast<int64_t>(blockBytes / 2);
    args.lastKey = static_cast<int64_t>(keys) - 1;
    args.sinks = sinks.data();
    args.scale = 0.125f;
    for (uint64_t head = 0; head < heads; ++head) {
      args.kvBase = memory[thread] + head * headBytes;
      kernel(args);
    }
  }

  uint64_t bytes() const override { return threads * heads * headBytes; }
  /// Scores and weighted values.
  uint64_t operations() const override {
    return 2 * threads * heads * keys * spec.headDim * spec.group * 2;
  }
  DotKind products() const override {
    return spec.inputs == InputFormat::BF16 ? DotKind::Bf16 : DotKind::F32;
  }

private:
  const KernelSpec spec;
  const test::ExecutableKernel kernel;
  const uint64_t keys, blockBytes, headBytes, threads;
  uint64_t heads = 0; ///< kv heads in a thread's pass
  std::vector<int32_t> table;
  const std::vector<float> queries, sinks;
  std::vector<const uint8_t *> memory;     ///< [threads]
  std::vector<std::vector<float>> outputs; ///< [threads][group][headDim]
};

} // namespace

std::unique_ptr<Work> makeAttentionWork(const KernelSpec &spec, Source source,
                                        const Machine &machine) {
  return std::make_unique<AttentionWork>(spec, source, machine);
}

} // namespace inf::bench
