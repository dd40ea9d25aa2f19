// Filesystems on which mapped weights would be slow.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace inf {

/// The type of the filesystem that holds `path` (statfs's f_type); 0 when the system doesn't say.
uint64_t filesystemType(const std::string &path);

/// The name of a type where each fault of a mapping is a request to another process or machine, a
/// page or a few at a time: 9p (Windows drives and shared folders in WSL2 and virtual machines),
/// drvfs of WSL1, fuse (and virtiofs), vboxsf. Empty for all others.
std::string_view slowToMap(uint64_t type);

} // namespace inf
