// The tensor types of GGUF files: their numbers, blocks, and what becomes of each here.
// Numbers and sizes: ggml_type and the block structs of the GGML library.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/abi/WeightFormats.h"

namespace inf {

struct GgufTensorType {
  uint32_t number;
  std::string_view name;
  uint64_t blockElements, blockBytes; ///< 0 when it isn't read
  std::optional<WeightFormat> kept; ///< format whose stored form it is; none: values are converted

  bool isRead() const { return blockElements != 0; }
  /// What the weights of such a tensor are declared to be stored as.
  WeightFormat stored() const { return kept.value_or(WeightFormat::F32); }
};

/// nullptr when no type has the number.
const GgufTensorType *findTensorType(uint32_t number);
/// "F32, F16, ...": those that are read.
std::string readTensorTypes();

} // namespace inf
