// CPUID words of named processors.
#pragma once

#include "runtime/cpu/Features.h"

#include <string>

namespace inf::test {

/// The words detectFeatures reads, and what the OS answers.
struct FakeCpu {
  uint32_t leaf1Ecx = 0, leaf7Ebx = 0, leaf7Ecx = 0, leaf7Edx = 0, leaf7Sub1Eax = 0;
  uint32_t maxLeaf = 0x20, maxSubleaf7 = 2;
  uint64_t xcr0 = 0;
  bool amxPermission = false;
  std::string vendor = "GenuineIntel", brand = "Fake CPU";
};

/// `xcr0Reads` and `permissionRequests`, when given, count the calls.
CpuidSource sourceOf(const FakeCpu &cpu, int *xcr0Reads = nullptr,
                     int *permissionRequests = nullptr);

FakeCpu broadwell();      ///< AVX2, nothing wider
FakeCpu cascadeLake();    ///< AVX-512 with VNNI, without VBMI
FakeCpu alderLake();      ///< AVX-VNNI and GFNI without AVX-512
FakeCpu sapphireRapids(); ///< AMX, FP16, permission granted
FakeCpu zen5();           ///< AVX-512 with VBMI, BF16, AVX-VNNI; no AMX, no FP16

} // namespace inf::test
