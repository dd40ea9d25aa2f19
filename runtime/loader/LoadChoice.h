// Whether to map weights or to copy them, by rule.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/cpu/SystemRoot.h"
#include "runtime/loader/WeightMemory.h"

namespace inf {

/// "map", "copy", or "auto" (nullopt). Fails with Usage.
std::optional<LoadMode> parseLoadMode(std::string_view text);

struct LoadChoice {
  LoadMode mode = LoadMode::Map;
  bool dropCache = false; ///< copying: memory does not hold the file and its copy
  std::string reason;     ///< one sentence, for people
  std::string warning;    ///< what is wrong with it and what to do; usually empty
};

/// What is asked for. Else copy where the file lies on a filesystem that is slow to map
/// (`slowFilesystem`, slowToMap()) and memory holds the weights with a fifth to spare. Else copy
/// for a process that is there to run for long (a server, a benchmark) where huge pages can be had,
/// memory holds the weights with a fifth to spare, and they are no trifle; map in all other cases,
/// since copying takes as long as reading the file. Mapping from a slow filesystem comes with a
/// warning. Fails with Machine when a copy is asked for and memory does not hold it.
LoadChoice chooseLoad(std::optional<LoadMode> asked, uint64_t weightsBytes, bool runsForLong,
                      const SystemRoot &system = {}, std::string_view slowFilesystem = {});

} // namespace inf
