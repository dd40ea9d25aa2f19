// What a compile would read, as one number: the key of the cache.
#pragma once

#include <string>

#include "runtime/cpu/Features.h"
#include "runtime/jit/CompilerLibrary.h"

namespace inf {

/// 32 hexadecimal digits of an XXH3-128 over everything that the compiled model depends on:
///   - the compiler: its bytes; the ABI version
///   - the options, as text; for the target of this machine, its features
///   - the input, and what --weights names: of a directory all its files; of a model.json also the
///     files and directories that its strings name
/// Files up to 32 MiB count by content. Of larger ones (weights) only path, size, time of change
/// and inode count, since reading them takes as long as loading them: a file changed in place with
/// its old time put back is taken for the old one.
/// Fails with Io when the input can't be read.
std::string sourceKey(const JitSource &source, const std::string &compilerPath, FeatureSet machine);

} // namespace inf
