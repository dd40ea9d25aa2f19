// A model that is not compiled yet, run all the same.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "runtime/jit/CompilerLibrary.h"
#include "runtime/jit/ModelCache.h"
#include "runtime/loader/Model.h"

namespace inf {

struct JitOptions {
  JitSource source;
  std::string compiler; ///< path of libinf_compiler.so; "": findCompiler()
  bool useCache = true;
  ModelCache::Options cache;
  LoadOptions load;
  CompileWatch watch;
  std::function<void(const std::string &)> warn; ///< the cache can't be used, and why
};

/// Whether `path` is something to compile (a directory, .json, .gguf) rather than a model.so.
bool isModelSource(const std::string &path);

/// Compiles, or finds what was compiled before (ModelCache, sourceKey). Without a cache, or where
/// it can't be written (after a warning), code and weights are made in this process's memory: the
/// same objects linked by the compiler's JITLink, the same packed bytes in anonymous huge pages.
/// Either way a step gives the bits that the model.so of `infc compile` gives. Fails as the
/// compiler and Model::load do; with BadInput when the input changed meanwhile.
std::shared_ptr<const Model> compileAndLoad(const JitOptions &options);

} // namespace inf
