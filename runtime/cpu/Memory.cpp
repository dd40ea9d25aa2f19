#include "runtime/cpu/Memory.h"

#include "runtime/cpu/Limits.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include <fmt/format.h>

namespace inf {
namespace {

/// The value of a line "Key:   1234 kB", in bytes.
std::optional<uint64_t> readKilobytes(const SystemRoot &system, const std::string &path,
                                      const std::string &key) {
  const std::string text = fmt::format("\n{}", system.read(path).value_or(""));
  const size_t line = text.find(fmt::format("\n{}:", key));
  if (line == std::string::npos)
    return std::nullopt;
  const size_t digits = text.find_first_not_of(" \t", line + key.size() + 2);
  if (digits == std::string::npos)
    return std::nullopt;
  uint64_t kilobytes = 0;
  const auto [end, error] =
      std::from_chars(text.data() + digits, text.data() + text.size(), kilobytes);
  const std::string_view unit(end, static_cast<size_t>(text.data() + text.size() - end));
  if (error != std::errc() || kilobytes > UINT64_MAX / 1024 || unit.substr(0, 3) != " kB")
    return std::nullopt;
  return kilobytes * 1024;
}

/// The first number of a file, or that behind "key " in it; 0 when there is none.
uint64_t numberIn(const SystemRoot &system, const std::string &path, const std::string &key) {
  const std::string text = fmt::format("\n{}", system.read(path).value_or(""));
  const std::string before = key.empty() ? "\n" : fmt::format("\n{} ", key);
  const size_t at = text.find(before);
  uint64_t number = 0;
  if (at != std::string::npos)
    std::from_chars(text.data() + at + before.size(), text.data() + text.size(), number);
  return number;
}

/// What the tightest group's limit leaves: less what its processes hold, but for the page cache
/// among it, which the kernel gives up. nullopt: no limit.
std::optional<uint64_t> leftInGroup(const SystemRoot &system) {
  const Limits limits = readLimits(system);
  if (!limits.memory.limited())
    return std::nullopt;
  const std::string group = limits.memory.source.substr(0, limits.memory.source.rfind('/'));
  const bool version1 = limits.memory.source.ends_with("memory.limit_in_bytes");
  const uint64_t used =
      numberIn(system, group + (version1 ? "/memory.usage_in_bytes" : "/memory.current"), "");
  const std::string stat = group + "/memory.stat";
  const uint64_t cache =
      numberIn(system, stat, "inactive_file") + numberIn(system, stat, "active_file");
  const uint64_t held = used > cache ? used - cache : 0;
  return limits.memory.value > held ? limits.memory.value - held : 0;
}

} // namespace

std::optional<uint64_t> peakResidentBytes(const SystemRoot &system) {
  return readKilobytes(system, "/proc/self/status", "VmHWM");
}

std::optional<uint64_t> addressSpaceBytes(const SystemRoot &system) {
  return readKilobytes(system, "/proc/self/status", "VmSize");
}

std::optional<uint64_t> physicalMemoryBytes(const SystemRoot &system) {
  return readKilobytes(system, "/proc/meminfo", "MemTotal");
}

std::optional<uint64_t> availableMemoryBytes(const SystemRoot &system) {
  const std::optional<uint64_t> free = readKilobytes(system, "/proc/meminfo", "MemAvailable");
  const std::optional<uint64_t> group = leftInGroup(system);
  return free && group ? std::min(*free, *group) : free ? free : group;
}

std::optional<uint64_t> memoryLimitBytes(const SystemRoot &system) {
  const Limits limits = readLimits(system);
  if (!limits.memory.limited())
    return std::nullopt;
  return limits.memory.value;
}

} // namespace inf
