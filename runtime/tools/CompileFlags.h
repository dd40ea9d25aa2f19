// The flags of a model that is compiled when it is run.
#pragma once

#include <string>

#include "runtime/jit/Jit.h"
#include "runtime/tools/Arguments.h"

namespace inf {

struct CompileFlags {
  JitSource source; ///< without the input
  std::string compiler, cacheDirectory;
  bool noCache = false;
  double cacheLimit = 64; ///< GB
  bool given = false;     ///< any of them
};

/// --target, --quant, --activations, --kv, --weights, --compiler, --no-cache, --cache-dir,
/// --cache-limit.
void addCompileFlags(CLI::App &app, CompileFlags &flags);
/// --cache-dir and --cache-limit alone.
void addCacheFlags(CLI::App &app, CompileFlags &flags);

/// Fails with Usage when they are given for a model.so, or can't work together.
void checkCompileFlags(const CompileFlags &flags, const std::string &path);

ModelCache::Options cacheOptions(const CompileFlags &flags);
/// Progress shows on a terminal, notes with `verbose`, warnings always.
JitOptions jitOptions(const CompileFlags &flags, const std::string &path, const LoadOptions &load,
                      bool verbose);

} // namespace inf
