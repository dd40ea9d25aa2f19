#include "runtime/cpu/Cgroup.h"

#include <algorithm>
#include <sstream>

namespace inf {
namespace {

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(separator, begin), text.size());
    parts.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

bool lists(const std::string &commaSeparated, std::string_view name) {
  const std::vector<std::string> parts = split(commaSeparated, ',');
  return std::find(parts.begin(), parts.end(), name) != parts.end();
}

/// mountinfo writes space, tab, newline and backslash in a path as \ooo.
std::string unescape(std::string_view text) {
  const auto digit = [&](size_t at) { return at < text.size() ? text[at] - '0' : -1; };
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    const int a = digit(i + 1), b = digit(i + 2), c = digit(i + 3);
    const bool octal = a >= 0 && a <= 3 && b >= 0 && b <= 7 && c >= 0 && c <= 7;
    if (text[i] == '\\' && octal) {
      result += static_cast<char>(a * 64 + b * 8 + c);
      i += 3;
    } else {
      result += text[i];
    }
  }
  return result;
}

/// "31 23 0:28 /root /point rw,relatime [tags] - type source options"; false for other types.
bool parseMount(const std::string &line, CgroupMount &mount) {
  const std::vector<std::string> fields = split(line, ' ');
  const auto dash = std::find(fields.begin(), fields.end(), "-");
  if (dash - fields.begin() < 6 || fields.end() - dash < 4)
    return false;
  if (dash[1] != "cgroup" && dash[1] != "cgroup2")
    return false;
  mount.version = dash[1] == "cgroup" ? 1 : 2;
  mount.root = unescape(fields[3]);
  mount.point = unescape(fields[4]);
  mount.controllers = mount.version == 1 ? dash[3] : "";
  return true;
}

/// "4:cpu,cpuacct:/path" or "0::/path"; the path itself may hold colons.
bool parseMembership(const std::string &line, CgroupMembership &own) {
  const size_t first = line.find(':');
  const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
  if (second == std::string::npos)
    return false;
  own.controllers = line.substr(first + 1, second - first - 1);
  own.path = line.substr(second + 1);
  return !own.path.empty() && own.path.front() == '/';
}

/// The part of `path` below the mounted `root`, "" or "/…"; nullopt when it is not below it. A ".."
/// is how the kernel shows a group outside of our namespace.
std::optional<std::string> below(const std::string &path, const std::string &root) {
  constexpr size_t pathMax = 4096;
  const std::vector<std::string> parts = split(path, '/');
  if (path.size() > pathMax || std::find(parts.begin(), parts.end(), "..") != parts.end())
    return std::nullopt;
  const std::string prefix = root == "/" ? "" : root;
  if (path.compare(0, prefix.size(), prefix) != 0)
    return std::nullopt;
  const std::string rest = path.substr(prefix.size());
  if (!rest.empty() && rest.front() != '/')
    return std::nullopt;
  return rest == "/" ? "" : rest;
}

std::vector<std::string> upwards(const std::string &point, std::string rest) {
  std::vector<std::string> directories;
  for (; !rest.empty(); rest.erase(rest.rfind('/')))
    directories.push_back(point + rest);
  directories.push_back(point);
  return directories;
}

} // namespace

std::optional<CgroupPath> Cgroups::find(const SystemRoot &system,
                                        std::string_view controller) const {
  std::optional<CgroupPath> visible; // the mount point, should our own directory not show up
  for (const int version : {1, 2}) {
    const auto own = std::find_if(memberships.begin(), memberships.end(), [&](const auto &m) {
      return version == 1 ? lists(m.controllers, controller) : m.controllers.empty();
    });
    for (const CgroupMount &mount : mounts) {
      const bool carries = mount.version == version && own != memberships.end() &&
                           (version == 2 || lists(mount.controllers, controller));
      if (!carries)
        continue;
      const std::optional<std::string> rest = below(own->path, mount.root);
      if (rest && system.isDirectory(mount.point + *rest))
        return CgroupPath{version, upwards(mount.point, *rest), true};
      if (!visible)
        visible = CgroupPath{version, {mount.point}, false};
    }
    if (visible)
      return visible;
  }
  return std::nullopt;
}

Cgroups readCgroups(const SystemRoot &system) {
  Cgroups groups;
  std::istringstream mountLines(system.read("/proc/self/mountinfo").value_or(""));
  for (std::string line; std::getline(mountLines, line);)
    if (CgroupMount mount; parseMount(line, mount))
      groups.mounts.push_back(mount);
  std::istringstream ownLines(system.read("/proc/self/cgroup").value_or(""));
  for (std::string line; std::getline(ownLines, line);)
    if (CgroupMembership own; parseMembership(line, own))
      groups.memberships.push_back(own);
  return groups;
}

} // namespace inf
