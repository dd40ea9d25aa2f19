// Evaluates the ops of one block on rows given here, with weights given here: the reference
// interpreter without a model around it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "ir/reference/Interpreter.h"

namespace inf::test {

struct BlockWeight {
  std::string shape;         ///< as the type has it: "4, 2"
  std::vector<float> values; ///< experts, rows, columns; may hold what a checkpoint may not (-inf)
  std::string format;        ///< "bf16": how it is packed; empty: as it is
};

struct BlockRun {
  int64_t features = 0;                       ///< of %x, the block's rows
  std::string symbols;                        ///< rope tables and KV groups
  std::map<std::string, BlockWeight> weights; ///< by the names `body` has: %w
  std::string body;                           ///< ops; the results of the last one are returned

  /// Row r is the token at position r.
  std::vector<ir::ReferenceTensor> run(const std::vector<std::vector<float>> &rows) const;
  /// The values of the last op's first result.
  std::vector<float> values(const std::vector<std::vector<float>> &rows) const;
};

} // namespace inf::test
