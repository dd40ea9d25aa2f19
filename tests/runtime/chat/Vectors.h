// Test data of the published Harmony renderer: tests/data/harmony.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/tokenizer/Tokenizer.h"

namespace inf::test {

struct HarmonyVector {
  std::string text;
  std::vector<int32_t> ids; ///< of o200k
};

HarmonyVector harmonyVector(const std::string &name);

/// gpt-oss-20b's tokenizer from the shared folder; null when there is no shared folder.
const Tokenizer *o200k();

} // namespace inf::test
