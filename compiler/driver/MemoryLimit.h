// A compile that keeps to the memory it is given.
#pragma once

#include <cstdint>
#include <string>

#include "compiler/driver/Compile.h"

namespace inf {

/// What passes, code generation and linking take at most beyond the model's description and its
/// tokenizer, whatever the size of the model: a kind of layer is compiled once. 60 MB are measured.
inline constexpr uint64_t compilerBytes = uint64_t{96} << 20;

/// "300M": bytes, with k, M or G times 1024, 1024^2, 1024^3. Fails with Usage.
uint64_t parseMemorySize(const std::string &text);

/// With a limit: fails with Machine, naming what it would take, unless what this process has had
/// resident so far and compilerBytes stay below it.
void requireCompilerMemory(const CompileOptions &options);

/// How many of the threads asked for may pack: all without a limit, else as many as stay below it
/// (packingMemory). Fails with Machine, naming what it would take, when one does not.
unsigned threadsWithinMemory(const CompileOptions &options, const Manifest &manifest);

} // namespace inf
