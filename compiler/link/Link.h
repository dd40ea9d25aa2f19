// Objects to a shared library, by lld in this process.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace inf {

/// Links `objects` into a shared library that exports `exportedSymbol` and needs nothing
/// (`-z defs`, no libraries). `workPath` names a file that does not exist yet, beside which
/// intermediate files are written and removed again. Fails with Internal and lld's messages when a
/// symbol is undefined, with Io when the disk is full.
std::vector<uint8_t> linkSharedLibrary(const std::vector<std::vector<uint8_t>> &objects,
                                       const std::string &exportedSymbol,
                                       const std::string &workPath);

} // namespace inf
