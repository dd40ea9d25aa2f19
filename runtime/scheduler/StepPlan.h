// What one step is to run.
#pragma once

#include <cstdint>
#include <vector>

namespace inf {

struct PlannedRow {
  int32_t token = 0;
  uint32_t slot = 0;      ///< of the KV cache
  bool generated = false; ///< not of the prompt, also when it runs again after a preemption
  bool output = false;    ///< its logits are wanted
};

/// The rows of one sequence, which follow each other.
struct PlannedPart {
  uint64_t request = 0;
  uint32_t slot = 0;
  uint32_t first = 0, count = 0; ///< positions [first, first + count)
  bool decode = false;           ///< one row that a stream waits for
  uint32_t outputs = 0;          ///< rows that want logits: the last ones
};

struct StepPlan {
  std::vector<PlannedPart> parts; ///< in the order of `rows`
  std::vector<PlannedRow> rows;
  uint32_t decodeRows = 0;
  std::vector<uint64_t> stuck; ///< running alone and without memory: can never go on

  uint32_t promptRows() const { return static_cast<uint32_t>(rows.size()) - decodeRows; }
};

} // namespace inf
