// What a model.so says about itself: JSON in the payload, read before dlopen by the loader, by
// `infc inspect`, and by `infrun fill`, which packs weights from it without any compiler.
// It never depends on the weights' bytes, on paths, or on the time: the same input and flags give
// the same manifest.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/abi/ActivationRows.h"
#include "runtime/format/Pack.h"
#include "runtime/format/WeightDecl.h"

namespace inf {

/// 2: `format_from` of weights and `outputs` of stages are required.
inline constexpr uint32_t manifestVersion = 2;

struct PackedWeight {
  WeightDecl decl;
  PackedSpec spec;
  uint64_t offset = 0;    ///< in the weights region, multiple of 64
  uint64_t bytes = 0;     ///< = packedBytes(decl, spec)
  std::string formatFrom; ///< what decided the format, in words; "": it was set by hand
};

struct KvGroup {
  std::string name;          ///< "full", "window128"
  std::string elementFormat; ///< "f32" or "bf16"
  uint64_t window = 0;       ///< keys a query sees including itself; 0 = all
  uint64_t blockTokens = 0;
  uint64_t blockBytes = 0;      ///< all layers of the group
  std::vector<uint64_t> layers; ///< model layer of each slot
};

struct RopeTable {
  std::string name;
  uint64_t headDim = 0;
  double attentionFactor = 1;             ///< multiplies cos and sin
  std::vector<double> inverseFrequencies; ///< head_dim / 2
};

struct MemoryPlan {
  uint64_t maxRows = 0, maxOutputRows = 0;
  uint64_t arenaBytes = 0;   ///< shared, for maxRows
  uint64_t scratchBytes = 0; ///< per thread
  struct Buffer {
    std::string name;
    uint64_t offset = 0, bytes = 0;
    int64_t firstUse = 0, lastUse = 0;
  };
  std::vector<Buffer> buffers;
};

struct KernelUse {
  std::string symbol;
  uint64_t codeBytes = 0;
  std::vector<std::string> usedBy; ///< "sliding/attention.qkv", ...
};

/// What a stage leaves in the arena: rows of `vectors` vectors of `features` elements each, padded
/// to 64 bytes (passes/Buffers.h).
struct StageOutput {
  static constexpr int64_t logits = -1; ///< as offset: in the caller's memory, not in the arena

  int64_t offset = 0;      ///< in the arena, or `logits`
  std::string type;        ///< "f32", "i32", "q8" or "bf16" (runtime/abi/ActivationRows.h)
  bool outputRows = false; ///< a row for each row with output, else for each row
  uint64_t vectors = 1, features = 0;

  /// From one vector to the next.
  uint64_t vectorBytes() const {
    if (type == "q8")
      return q8RowBytes(features);
    return type == "bf16" ? bf16RowBytes(features) : (features + 15) / 16 * 64;
  }
  bool operator==(const StageOutput &) const = default;
};

/// What lies between two barriers of a step.
struct Stage {
  std::string name;   ///< "sliding/attention", "sliding/linear attention.o.weight", "lm_head"
  int64_t layer = -1; ///< -1: of no layer
  std::vector<StageOutput> outputs =
      {}; ///< by result of the op; what goes to the cache is not here

  bool operator==(const Stage &) const = default;
};

struct Manifest {
  uint32_t version = manifestVersion;
  uint32_t abiVersion = 0;
  std::string modelName, architecture, target;
  uint64_t featureBits = 0;
  std::string numerics; ///< what fixes the bits: quantization policy, kv format
  uint64_t vocabulary = 0, hidden = 0, layers = 0, maxContext = 0;
  std::vector<int64_t> eosTokens; ///< union of config's and generation_config's
  int64_t bosToken = -1;
  std::vector<PackedWeight> weights; ///< ascending, non-overlapping offsets
  uint64_t weightsBytes = 0;         ///< size of the weights region when filled
  /// Weight bytes read by one generated token: exact, distinct experts counted top_k of experts.
  uint64_t bytesPerToken = 0;
  std::vector<KvGroup> kvGroups;
  std::vector<RopeTable> ropeTables;
  MemoryPlan plan;
  std::vector<KernelUse> kernels;
  std::vector<Stage> stages; ///< of a step, in order; the last ends with the step
};

/// Gives every weight its offset and size, in the order of the list, and sets weightsBytes. Fails
/// with BadInput when a weight can't be packed as its spec says.
void layoutWeights(Manifest &manifest);

/// Stable key order, 2-space indent. BadInput when a weight can't be packed as its spec says or a
/// name is not UTF-8.
std::string manifestToJson(const Manifest &manifest);
/// Checks everything (types, ranges, offsets inside weightsBytes and not overlapping, bytes equal
/// to packedBytes, version known, no key twice, missing or unknown) and fails with BadInput naming
/// the key. Counts are at most 2^32, sizes 2^50.
Manifest manifestFromJson(std::string_view json);

} // namespace inf
