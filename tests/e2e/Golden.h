// What the published implementation computed, in fp32 (../shared/golden, ../shared/families).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/format/Safetensors.h"

namespace inf::test {

struct Matrix {
  uint64_t rows = 0, columns = 0;
  std::vector<float> values;
  const float *row(uint64_t r) const { return values.data() + r * columns; }
};

struct GoldenPrompt {
  std::vector<int32_t> ids, greedy; ///< greedy continues ids
  std::vector<float> margin;        ///< of each greedy token over the runner-up
  Matrix logits;                    ///< of the last positions of ids
};

class Golden {
public:
  explicit Golden(const std::string &path);

  size_t prompts() const;
  /// Without `greedy` in the file (the families) both stay empty.
  GoldenPrompt prompt(size_t index) const;
  Matrix matrix(const std::string &name) const;
  std::vector<int32_t> ids(const std::string &name) const;

private:
  const TensorInfo &tensor(const std::string &name) const;
  SafetensorsFile file;
};

/// The first `count` ids of heldout.jsonl's lines, one after the other.
std::vector<int32_t> heldoutIds(size_t count);

} // namespace inf::test
