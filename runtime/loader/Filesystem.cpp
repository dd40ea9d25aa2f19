#include "runtime/loader/Filesystem.h"

#include <sys/statfs.h>

namespace inf {

uint64_t filesystemType(const std::string &path) {
  struct statfs facts = {};
  if (statfs(path.c_str(), &facts) != 0)
    return 0;
  // A signed word whose upper half is the sign of the 32 bits that count.
  return static_cast<uint32_t>(facts.f_type);
}

std::string_view slowToMap(uint64_t type) {
  constexpr struct {
    uint64_t type;
    std::string_view name;
  } slow[] = {
      {0x01021997, "9p"},    // linux/magic.h: V9FS_MAGIC
      {0x53464846, "drvfs"}, // "SFHF", what WSL1 says
      {0x65735546, "fuse"},  // linux/magic.h: FUSE_SUPER_MAGIC
      {0x786f4256, "vboxsf"} // linux fs/vboxsf
  };
  for (const auto &row : slow)
    if (row.type == type)
      return row.name;
  return {};
}

} // namespace inf
