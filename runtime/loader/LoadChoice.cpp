#include "runtime/loader/LoadChoice.h"

#include <algorithm>

#include <fmt/format.h>

#include "runtime/base/Error.h"
#include "runtime/cpu/Memory.h"

namespace inf {
namespace {

/// Weights that caches hold, or nearly: pages make no difference.
constexpr uint64_t trifle = uint64_t{64} << 20;

bool hasHugePages(const SystemRoot &system) {
  // "always [madvise] never": the brackets mark what is set.
  const auto setting = system.read("/sys/kernel/mm/transparent_hugepage/enabled");
  return setting && setting->find("[never]") == std::string::npos &&
         setting->find('[') != std::string::npos;
}

std::string gigabytes(uint64_t bytes) {
  return fmt::format("{:.1f} GB", static_cast<double>(bytes) / 1e9);
}

LoadChoice mapSlowly(std::string reason, std::string_view filesystem, std::string_view advice) {
  return {
      LoadMode::Map, false, std::move(reason),
      fmt::format("the weights are mapped from {}, which gives a few pages at a time: expect slow "
                  "steps. {}",
                  filesystem, advice)};
}

} // namespace

std::optional<LoadMode> parseLoadMode(std::string_view text) {
  if (text == "map")
    return LoadMode::Map;
  if (text == "copy")
    return LoadMode::Copy;
  if (text != "auto")
    fail(ErrorCode::Usage, "--load must be auto, map or copy, not \"{}\"", text);
  return std::nullopt;
}

LoadChoice chooseLoad(std::optional<LoadMode> asked, uint64_t weightsBytes, bool runsForLong,
                      const SystemRoot &system, std::string_view slowFilesystem) {
  const std::optional<uint64_t> available = availableMemoryBytes(system);
  const bool fits = !available || *available / 5 * 4 >= weightsBytes;
  const bool dropCache = available && *available / 2 < weightsBytes;
  if (asked == LoadMode::Copy && available && *available < weightsBytes)
    fail(ErrorCode::Machine,
         "--load=copy needs {} of memory for the weights, {} are available. Use --load=map.",
         gigabytes(weightsBytes), gigabytes(*available));
  if (asked == LoadMode::Map && !slowFilesystem.empty())
    return mapSlowly("as --load says", slowFilesystem, "Use --load=copy, or a local disk.");
  if (asked)
    return {*asked, dropCache, "as --load says", {}};
  if (!slowFilesystem.empty() && !fits)
    return mapSlowly(
        fmt::format("mapped: a copy of {} would leave less than a fifth of the {} available",
                    gigabytes(weightsBytes), gigabytes(*available)),
        slowFilesystem, "Move the file to a local disk.");
  if (!slowFilesystem.empty())
    return {
        LoadMode::Copy, dropCache, fmt::format("copied: {} is slow to map", slowFilesystem), {}};
  if (!runsForLong)
    return {LoadMode::Map, false, "mapped: starts at once", {}};
  if (weightsBytes < trifle)
    return {LoadMode::Map, false, "mapped: there are few", {}};
  if (!hasHugePages(system))
    return {LoadMode::Map, false, "mapped: this system gives no huge pages to copy into", {}};
  if (!fits)
    return {LoadMode::Map,
            false,
            fmt::format("mapped: a copy of {} would leave less than a fifth of the {} available",
                        gigabytes(weightsBytes), gigabytes(*available)),
            {}};
  return {LoadMode::Copy, dropCache, "copied into huge pages: they stream faster", {}};
}

} // namespace inf
