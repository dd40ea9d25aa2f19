// Sets of CPU numbers in the kernel's list format ("0-3,8,10-11").
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace inf {

/// CPU numbers, ascending and distinct.
using CpuList = std::vector<int>;

/// One more than the largest CPU number we believe. Linux builds for x86-64 stop at 8192; the bound
/// keeps a garbage file ("0-4294967295") from filling memory.
inline constexpr int maxCpuCount = 8192;

/// Parses the format of Linux's cpulist files (also "0-7:2/4", groups with a stride, is refused: no
/// file that we read uses it). Surrounding white space is ignored, an empty text is the empty list.
/// \returns nullopt when the text is not such a list or names a CPU of maxCpuCount or more.
std::optional<CpuList> parseCpuList(std::string_view text);

/// The shortest such text ("0-3,8"); "none" when empty.
std::string formatCpuList(std::span<const int> cpus);

bool contains(const CpuList &list, int cpu);
CpuList intersect(const CpuList &a, const CpuList &b);

} // namespace inf
