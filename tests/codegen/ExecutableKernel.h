// A kernel's bytes made executable for a test: written, then mapped read and execute.
#pragma once

#include <cstdint>
#include <vector>

#include "codegen/Kernel.h"

namespace inf::test {

class ExecutableKernel {
public:
  explicit ExecutableKernel(const KernelCode &code);
  explicit ExecutableKernel(const KernelSpec &spec) : ExecutableKernel(generateKernel(spec)) {}
  ~ExecutableKernel();
  ExecutableKernel(const ExecutableKernel &) = delete;
  ExecutableKernel &operator=(const ExecutableKernel &) = delete;

  template <typename Args> void operator()(const Args &args) const {
    reinterpret_cast<void (*)(const Args *)>(memory)(&args);
  }

  const void *entry() const { return memory; }

private:
  void *memory = nullptr;
  size_t size = 0;
};

/// A copy of bytes that ends at an inaccessible page: reading behind it crashes the test.
class GuardedBytes {
public:
  explicit GuardedBytes(const std::vector<uint8_t> &content);
  ~GuardedBytes();
  GuardedBytes(const GuardedBytes &) = delete;
  GuardedBytes &operator=(const GuardedBytes &) = delete;
  const uint8_t *data() const { return begin; }

private:
  void *mapping = nullptr;
  size_t size = 0;
  uint8_t *begin = nullptr;
};

/// What this machine lacks of the features that kernels for `isa` may use (AVX2 is needed to run
/// the tests at all).
FeatureSet missingFor(KernelIsa isa);
bool machineRuns(KernelIsa isa);
/// Of the register families Avx2 and Avx512, those this machine runs.
std::vector<KernelIsa> runnableIsas();

} // namespace inf::test
