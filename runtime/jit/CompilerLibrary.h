// libinf_compiler.so in this process: found, loaded, asked.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "runtime/abi/inf_compiler.h"

namespace inf {

/// What to compile, as `infc compile` would be told; "": its default.
struct JitSource {
  std::string input; ///< model.json, checkpoint directory or .gguf
  std::string target, quant, activations, kv, weights;
};

/// Told about a compile, on the calling thread; any may be empty.
struct CompileWatch {
  std::function<void()> begins, ends; ///< ends: however it ends
  std::function<void(uint64_t done, uint64_t total)> packing;
  std::function<void(const std::string &line)> report;
};

/// Where the compiler is: `asked` when not empty; else beside the running program in ../lib or in
/// its own directory. Fails with Io, naming the places, when there is none.
std::string findCompiler(const std::string &asked);

/// Loaded once and never unloaded (LLVM keeps state of its own).
class CompilerLibrary {
public:
  /// Fails with BadInput when the file is no compiler of this version.
  explicit CompilerLibrary(const std::string &path);

  /// Both fail as the compiler does, with its code and message.
  void compileToFile(const JitSource &source, const std::string &output, unsigned threads,
                     const CompileWatch &watch) const;
  std::shared_ptr<const inf_compiled> compileInMemory(const JitSource &source, unsigned threads,
                                                      const CompileWatch &watch) const;
  void packWeights(const inf_compiled &compiled, const JitSource &source, uint8_t *weights,
                   uint64_t bytes, unsigned threads, const CompileWatch &watch) const;

private:
  const inf_compiler *table = nullptr;
};

} // namespace inf
