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

static FeatureSet featuresOf(KernelIsa isa) {
  using enum Feature;
  const FeatureSet avx2 = FeatureSet{}.with(AVX2).with(FMA).with(F16C);
  const FeatureSet avx512 = avx2.with(AVX512F).with(AVX512BW);
  switch (isa) {
  case KernelIsa::Avx2:
    return avx2;
  case KernelIsa::AvxVnni:
    return avx2.with(AVXVNNI);
  case KernelIsa::Avx512:
    return avx512;
  case KernelIsa::Avx512Vnni:
    return avx512.with(AVX512VNNI);
  case KernelIsa::Avx512Vbmi:
    return avx512.with(AVX512VNNI).with(AVX512VBMI);
  case KernelIsa::Avx512Bf16:
    return avx512.with(AVX512BF16);
  case KernelIsa::Amx:
    return avx512.with(AVX512VNNI).with(AMXTILE).with(AMXINT8);
  }
  return {};
}

FeatureSet missingFor(KernelIsa isa) {
  return detectFeatures(hostCpuid()).usable.missing(featuresOf(isa));
}

bool machineRuns(KernelIsa isa) { return missingFor(isa).empty(); }

std::vector<KernelIsa> runnableIsas() {
  std::vector<KernelIsa> isas;
  for (KernelIsa isa : {KernelIsa::Avx2, KernelIsa::Avx512})
    if (machineRuns(isa))
      isas.push_back(isa);
  return isas;
}

} // namespace inf::test
