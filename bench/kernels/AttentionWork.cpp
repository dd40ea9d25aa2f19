#include <algorithm>
#include <numeric>
#include <vector>

#include "bench/kernels/Work.h"
#include "codegen/KernelArgs.h"
#include "tests/codegen/ExecutableKernel.h"

namespace inf::bench {
namespace {

constexpr uint64_t memoryKeys = 4096, cacheKeys = 1024;

/// As gpt-oss-20b's full layers have them, each layer's blocks behind those of the layer before:
/// a head's keys in a block, and its values, are short streams apart from each other.
struct CacheShape {
  uint64_t layers = 1, kvHeads = 1;
};
constexpr CacheShape memoryShape = {12, 8}, cacheShape = {1, 1};

/// Calls the kernel as a step does: for each layer and kv head a chunk of keys at a time, then what
/// joins the chunks.
class AttentionWork : public Work {
public:
  AttentionWork(const KernelSpec &kernelSpec, Source source, const Machine &machine)
      : spec(kernelSpec), kernel(kernelSpec),
        headBytes(weightBytes(spec.kv, uint64_t{spec.blockTokens} * spec.headDim)),
        shape(source == Source::Memory ? shapeWithin(machine.memory.share(0).size()) : cacheShape),
        blockBytes(2 * shape.kvHeads * headBytes), threads(machine.pool.size()),
        keys(keysOf(source, machine)), table(keys / spec.blockTokens),
        queries(uint64_t{spec.group} * spec.headDim, 0.01f), sinks(spec.group, 0.5f) {
    std::iota(table.begin(), table.end(), 0);
    for (unsigned t = 0; t < threads; ++t) {
      memory.push_back(machine.memory.share(t).data());
      outputs.emplace_back(queries.size());
      partials.emplace_back(chunks() * partialBytes() + partialAlignment);
    }
  }

  void run(unsigned thread) override {
    AttentionArgs args = {};
    args.q = queries.data();
    args.out = outputs[thread].data();
    args.kvBase = memory[thread];
    args.blockTable = table.data();
    args.blockBytes = static_cast<int64_t>(blockBytes);
    args.sinks = sinks.data();
    args.scale = 0.125f;
    for (uint64_t head = 0; head < shape.layers * shape.kvHeads; ++head) {
      const uint64_t layer = head / shape.kvHeads;
      args.keyOffset = static_cast<int64_t>(layer * table.size() * blockBytes +
                                            head % shape.kvHeads * headBytes);
      args.valueOffset = args.keyOffset + static_cast<int64_t>(shape.kvHeads * headBytes);
      runHead(args, thread);
    }
  }

  uint64_t bytes() const override {
    return threads * shape.layers * shape.kvHeads * keys / spec.blockTokens * 2 * headBytes;
  }
  /// Scores and weighted values.
  uint64_t operations() const override {
    return 2 * threads * shape.layers * shape.kvHeads * keys * spec.headDim * spec.group * 2;
  }
  DotKind products() const override {
    return spec.inputs == InputFormat::BF16 ? DotKind::Bf16 : DotKind::F32;
  }

private:
  static constexpr uint64_t partialAlignment = 64;

  /// Of as many layers as a thread's share of memory holds.
  CacheShape shapeWithin(uint64_t share) const {
    const uint64_t layerBytes = memoryKeys / spec.blockTokens * 2 * memoryShape.kvHeads * headBytes;
    return {std::clamp(share / layerBytes, uint64_t{1}, memoryShape.layers), memoryShape.kvHeads};
  }

  /// As many as memory holds, at most memoryKeys.
  uint64_t keysOf(Source source, const Machine &machine) const {
    if (source == Source::Cache)
      return cacheKeys;
    const uint64_t chunkBytes = attentionChunkKeys / spec.blockTokens * blockBytes * shape.layers;
    return std::min(memoryKeys, machine.memory.share(0).size() / chunkBytes * attentionChunkKeys);
  }
  uint64_t chunks() const { return keys / attentionChunkKeys; }
  uint64_t partialBytes() const { return attentionPartialBytes(spec.headDim, spec.group); }

  void runHead(AttentionArgs &args, unsigned thread) {
    uint8_t *partial = alignUp(partials[thread].data());
    for (uint64_t chunk = 0; chunk < chunks(); ++chunk) {
      args.firstKey = static_cast<int64_t>(chunk * attentionChunkKeys);
      args.lastKey = args.firstKey + static_cast<int64_t>(attentionChunkKeys) - 1;
      args.partials = chunks() == 1 ? nullptr : partial + chunk * partialBytes();
      args.partialCount = 0;
      args.next = placeAfter(args, chunk, thread);
      kernel(args);
    }
    if (chunks() == 1)
      return;
    args.firstKey = 0;
    args.partials = partial;
    args.partialCount = static_cast<int64_t>(chunks());
    kernel(args);
  }

  /// Where the call after that of `chunk` begins: the head's next chunk, or the layer's next head.
  const uint8_t *placeAfter(const AttentionArgs &args, uint64_t chunk, unsigned thread) const {
    if (chunk + 1 < chunks())
      return memory[thread] + args.keyOffset +
             (chunk + 1) * attentionChunkKeys / spec.blockTokens * blockBytes;
    const uint64_t head = static_cast<uint64_t>(args.keyOffset) % blockBytes / headBytes;
    return head + 1 == shape.kvHeads ? nullptr : memory[thread] + args.keyOffset + headBytes;
  }

  static uint8_t *alignUp(uint8_t *at) {
    return at + (partialAlignment - reinterpret_cast<uintptr_t>(at) % partialAlignment) %
                    partialAlignment;
  }

  const KernelSpec spec;
  const test::ExecutableKernel kernel;
  const uint64_t headBytes; ///< a head's keys in a block
  const CacheShape shape;
  const uint64_t blockBytes, threads, keys;
  std::vector<int32_t> table;
  const std::vector<float> queries, sinks;
  std::vector<const uint8_t *> memory;        ///< [threads]
  std::vector<std::vector<float>> outputs;    ///< [threads][group][headDim]
  std::vector<std::vector<uint8_t>> partials; ///< [threads][chunks]
};

} // namespace

std::unique_ptr<Work> makeAttentionWork(const KernelSpec &spec, Source source,
                                        const Machine &machine) {
  return std::make_unique<AttentionWork>(spec, source, machine);
}

} // namespace inf::bench
