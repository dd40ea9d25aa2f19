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

} // namespace

std::optional<uint64_t> peakResidentBytes(const SystemRoot &system) {
  return readKilobytes(system, "/proc/self/status", "VmHWM");
}

std::optional<uint64_t> physicalMemoryBytes(const SystemRoot &system) {
  return readKilobytes(system, "/proc/meminfo", "MemTotal");
}

std::optional<uint64_t> availableMemoryBytes(const SystemRoot &system) {
  const std::optional<uint64_t> free = readKilobytes(system, "/proc/meminfo", "MemAvailable");
  const std::optional<uint64_t> limit = memoryLimitBytes(system);
  return free && limit ? std::min(*free, *limit) : free ? free : limit;
}

std::optional<uint64_t> memoryLimitBytes(const SystemRoot &system) {
  const Limits limits = readLimits(system);
  if (!limits.memory.limited())
    return std::nullopt;
  return limits.memory.value;
}

} // namespace inf
