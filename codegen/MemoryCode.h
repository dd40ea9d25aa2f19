// Object files linked into this process, with the names of their functions known to debuggers.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace inf {

/// A function in memory.
struct CodeSymbol {
  std::string name;
  uint64_t address = 0, bytes = 0;
};

/// Links by JITLink. Symbols are found among the objects alone: nothing of the process is visible
/// to them, as with `-z defs` for a shared library. While it lives, GDB's JIT interface
/// (`__jit_debug_descriptor`, LLVM's) lists the objects, and unwinders know the frames.
class MemoryCode {
public:
  /// Fails with Internal when a symbol is undefined or defined twice.
  MemoryCode(const std::vector<std::vector<uint8_t>> &objects, const std::string &entrySymbol);
  ~MemoryCode();
  MemoryCode(const MemoryCode &) = delete;
  MemoryCode &operator=(const MemoryCode &) = delete;

  void *entry() const { return entryAddress; }
  /// All functions, local ones too, by ascending address.
  const std::vector<CodeSymbol> &symbols() const;

private:
  struct Linker;
  std::unique_ptr<Linker> linker;
  void *entryAddress = nullptr;
};

} // namespace inf
