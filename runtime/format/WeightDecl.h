// A weight as the model names it: its logical shape, how the checkpoint stores it, and which
// checkpoint tensors it is put together from. Weights are names, never bytes: bytes are read
// through a WeightSource when they are packed or interpreted.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/abi/WeightFormats.h"

namespace inf {

/// One run of output rows of a weight, read from one checkpoint tensor, or two for MXFP4 that is
/// kept as codes and scales. All other block formats, and MXFP4 without `scales`, are one tensor of
/// GGUF's blocks [.., rows, k/32] (runtime/format/Blocks.h): Q8_0 is INT8, Q4_0 is INT4, Q4_1 is
/// INT4A. Names with "{expert}" in them stand for one tensor an expert, without the axis of
/// experts.
struct WeightPart {
  std::string tensor; ///< values; with `scales` the codes, u8 [.., rows, k/32, 16]
  std::string scales; ///< MXFP4 only: u8 [.., rows, k/32]
  WeightFormat stored = WeightFormat::BF16;
  uint64_t rows = 0; ///< output rows this part contributes (per expert)
  /// The checkpoint holds [.., k, rows] instead of [.., rows, k]; dense formats only.
  bool transposed = false;
  /// Gate and up rows alternate in the checkpoint: logical row r < rows/2 is stored row 2r, logical
  /// row rows/2 + r is stored row 2r + 1.
  bool interleaved = false;

  bool operator==(const WeightPart &) const = default;
};

/// Logical shape [experts, rows, columns]: `columns` is the reduction axis (k). Vectors (norms,
/// biases, sinks) have columns == 1 and are stored in the checkpoint as [.., rows].
struct WeightDecl {
  std::string name;     ///< the name in the IR, e.g. "layers.0.attention.q.weight"
  uint64_t experts = 1; ///< 1 when the weight has no expert axis
  uint64_t rows = 0;
  uint64_t columns = 1;
  std::vector<WeightPart> parts; ///< rows of the parts add up to `rows`

  bool isVector() const { return columns == 1; }
  bool operator==(const WeightDecl &) const = default;
};

/// "{expert}" in a part's names stands for the expert's number.
inline constexpr std::string_view expertMark = "{expert}";
/// Whether each expert of the part is a tensor of its own.
bool isPerExpert(const WeightPart &part);
/// The name with every "{expert}" replaced.
std::string atExpert(std::string_view name, uint64_t expert);

/// One tensor (with scales: two) that a part reads, and how many experts lie in it.
struct PartTensors {
  std::string tensor, scales;
  uint64_t experts = 1;
};
std::vector<PartTensors> tensorsOf(const WeightDecl &decl, const WeightPart &part);

/// nullopt when the declaration makes sense in itself (no zero dimension, sizes that fit 64 bits,
/// part rows adding up, scales exactly where the format has them), else the reason in a sentence.
std::optional<std::string> whyMalformed(const WeightDecl &decl);

} // namespace inf
