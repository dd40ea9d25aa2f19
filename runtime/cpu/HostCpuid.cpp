#include "runtime/cpu/Features.h"

#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace inf {
namespace {

CpuidSource::Regs readCpuid(uint32_t leaf, uint32_t subleaf) {
  CpuidSource::Regs regs;
  __cpuid_count(leaf, subleaf, regs.eax, regs.ebx, regs.ecx, regs.edx);
  return regs;
}

// Inline assembly because the intrinsic would need -mxsave, and this file is baseline x86-64.
uint64_t readXcr0() {
  uint32_t low = 0, high = 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return uint64_t{high} << 32 | low;
}

// Numbers from Linux's asm/prctl.h, spelled here because Debian 12's headers may lack them.
// Since Linux 5.16; an older kernel answers EINVAL, which reads as "refused".
bool requestTilePermission() {
  constexpr long getPermission = 0x1022, requestPermission = 0x1023, tileData = 18;
  if (syscall(SYS_arch_prctl, requestPermission, tileData) != 0)
    return false;
  uint64_t granted = 0;
  return syscall(SYS_arch_prctl, getPermission, &granted) == 0 && (granted >> tileData & 1);
}

} // namespace

CpuidSource hostCpuid() { return {readCpuid, readXcr0, requestTilePermission}; }

} // namespace inf
