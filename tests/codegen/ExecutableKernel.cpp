#include "tests/codegen/ExecutableKernel.h"

#include <cerrno>
#include <cstring>

#include <sys/mman.h>
#include <unistd.h>

#include "runtime/base/Error.h"

namespace inf::test {

static size_t pageBytes() { return static_cast<size_t>(sysconf(_SC_PAGESIZE)); }
static size_t wholePages(size_t bytes) {
  return (bytes + pageBytes() - 1) / pageBytes() * pageBytes();
}

static void *mapPages(size_t bytes) {
  void *memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    fail(ErrorCode::Machine, "mmap of {} bytes: {}", bytes, errnoText(errno));
  return memory;
}

static void protect(void *memory, size_t bytes, int protection) {
  if (mprotect(memory, bytes, protection) != 0)
    fail(ErrorCode::Machine, "mprotect of {} bytes: {}", bytes, errnoText(errno));
}

ExecutableKernel::ExecutableKernel(const KernelCode &code) : size(wholePages(code.bytes.size())) {
  memory = mapPages(size);
  std::memcpy(memory, code.bytes.data(), code.bytes.size());
  protect(memory, size, PROT_READ | PROT_EXEC);
}

ExecutableKernel::~ExecutableKernel() { munmap(memory, size); }

GuardedBytes::GuardedBytes(const std::vector<uint8_t> &content)
    : size(wholePages(content.size()) + pageBytes()) {
  mapping = mapPages(size);
  uint8_t *guard = static_cast<uint8_t *>(mapping) + size - pageBytes();
  begin = guard - content.size();
  std::memcpy(begin, content.data(), content.size());
  protect(guard, pageBytes(), PROT_NONE);
}

GuardedBytes::~GuardedBytes() { munmap(mapping, size); }

bool machineRuns(KernelIsa isa) {
  const FeatureSet usable = detectFeatures(hostCpuid()).usable;
  if (isa == KernelIsa::Avx512)
    return usable.has(Feature::AVX512F);
  return usable.has(Feature::AVX2) && usable.has(Feature::FMA) && usable.has(Feature::F16C);
}

std::vector<KernelIsa> runnableIsas() {
  std::vector<KernelIsa> isas;
  for (KernelIsa isa : {KernelIsa::Avx2, KernelIsa::Avx512})
    if (machineRuns(isa))
      isas.push_back(isa);
  return isas;
}

} // namespace inf::test
