#include "runtime/roof/CacheSize.h"

#include "runtime/cpu/Topology.h"

#include <charconv>
#include <limits>
#include <map>

#include <fmt/format.h>

namespace inf {
namespace {

struct Cache {
  unsigned level = 0;
  uint64_t bytes = 0;
  std::string cpus; ///< who shares it: tells one cache from another of its level
};

std::string_view withoutNewline(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' '))
    text.remove_suffix(1);
  return text;
}

std::optional<unsigned> parseLevel(std::string_view text) {
  text = withoutNewline(text);
  unsigned level = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), level);
  if (error != std::errc() || end != text.data() + text.size())
    return std::nullopt;
  return level;
}

std::optional<Cache> readCache(const SystemRoot &system, int cpu, unsigned index) {
  const std::string folder =
      fmt::format("/sys/devices/system/cpu/cpu{}/cache/index{}/", cpu, index);
  const auto type = system.read(folder + "type"), level = system.read(folder + "level"),
             size = system.read(folder + "size"), shared = system.read(folder + "shared_cpu_list");
  if (!type || !level || !size || !shared || withoutNewline(*type) == "Instruction")
    return std::nullopt;
  const auto number = parseLevel(*level);
  const auto bytes = parseCacheSize(withoutNewline(*size));
  if (!number || !bytes)
    return std::nullopt;
  return Cache{*number, *bytes, std::string(withoutNewline(*shared))};
}

} // namespace

std::optional<uint64_t> parseCacheSize(std::string_view text) {
  uint64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc())
    return std::nullopt;
  const std::string_view unit = text.substr(static_cast<size_t>(end - text.data()));
  const std::map<std::string_view, unsigned> shifts = {{"", 0}, {"K", 10}, {"M", 20}, {"G", 30}};
  const auto shift = shifts.find(unit);
  if (shift == shifts.end() || value > std::numeric_limits<uint64_t>::max() >> shift->second)
    return std::nullopt;
  return value << shift->second;
}

std::optional<uint64_t> lastLevelCacheBytes(const SystemRoot &system) {
  constexpr unsigned mostIndexes = 8; // four today: two of level 1, then 2 and 3
  std::map<unsigned, std::map<std::string, uint64_t>> levels;
  for (const LogicalCpu &cpu : readTopology(system).cpus)
    for (unsigned index = 0; index < mostIndexes; ++index)
      if (const auto cache = readCache(system, cpu.id, index))
        levels[cache->level][cache->cpus] = cache->bytes;
  if (levels.empty())
    return std::nullopt;
  uint64_t total = 0;
  for (const auto &[cpus, bytes] : levels.rbegin()->second) {
    if (bytes > std::numeric_limits<uint64_t>::max() - total)
      return std::nullopt;
    total += bytes;
  }
  return total;
}

} // namespace inf
