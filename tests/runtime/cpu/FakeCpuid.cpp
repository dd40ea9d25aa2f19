#include "tests/runtime/cpu/FakeCpuid.h"

#include <cstring>

namespace inf::test {
namespace {

// The same bits as in the vendors' manuals, written a second time on purpose: a slip in the
// library's table does not repeat itself here.
constexpr uint32_t bit(unsigned n) { return uint32_t{1} << n; }

constexpr uint32_t fma = bit(12), sse42 = bit(20), osxsave = bit(27), avx = bit(28), f16c = bit(29);
constexpr uint32_t bmi1 = bit(3), avx2 = bit(5), bmi2 = bit(8), f512 = bit(16), dq = bit(17),
                   ifma = bit(21), cd = bit(28), bw = bit(30), vl = bit(31);
constexpr uint32_t vbmi = bit(1), vbmi2 = bit(6), gfni = bit(8), vnni = bit(11), bitalg = bit(12),
                   vpopcntdq = bit(14);
constexpr uint32_t amxBf16 = bit(22), fp16 = bit(23), amxTile = bit(24), amxInt8 = bit(25);
constexpr uint32_t avxVnni = bit(4), bf16 = bit(5);

constexpr uint64_t ymmState = 0x7, zmmState = 0xe7, tileState = 0x600e7;

CpuidSource::Regs textRegs(const std::string &text, size_t at) {
  char bytes[16] = {};
  if (at < text.size())
    std::memcpy(bytes, text.data() + at, std::min<size_t>(16, text.size() - at));
  CpuidSource::Regs regs;
  std::memcpy(&regs.eax, bytes, 4);
  std::memcpy(&regs.ebx, bytes + 4, 4);
  std::memcpy(&regs.ecx, bytes + 8, 4);
  std::memcpy(&regs.edx, bytes + 12, 4);
  return regs;
}

CpuidSource::Regs answer(const FakeCpu &cpu, uint32_t leaf, uint32_t subleaf) {
  if (leaf == 0) {
    const CpuidSource::Regs text = textRegs(cpu.vendor, 0); // in the order ebx, edx, ecx
    return {cpu.maxLeaf, text.eax, text.ecx, text.ebx};
  }
  if (leaf == 1)
    return {0, 0, cpu.leaf1Ecx, 0};
  if (leaf == 7 && subleaf == 0)
    return {cpu.maxSubleaf7, cpu.leaf7Ebx, cpu.leaf7Ecx, cpu.leaf7Edx};
  if (leaf == 7 && subleaf == 1)
    return {cpu.leaf7Sub1Eax, 0, 0, 0};
  if (leaf == 0x80000000)
    return {0x80000008, 0, 0, 0};
  if (leaf >= 0x80000002 && leaf <= 0x80000004)
    return textRegs(cpu.brand, (leaf - 0x80000002) * 16);
  return {};
}

} // namespace

CpuidSource sourceOf(const FakeCpu &cpu, int *xcr0Reads, int *permissionRequests) {
  CpuidSource source;
  source.cpuid = [cpu](uint32_t leaf, uint32_t subleaf) { return answer(cpu, leaf, subleaf); };
  source.xcr0 = [cpu, xcr0Reads] {
    if (xcr0Reads)
      ++*xcr0Reads;
    return cpu.xcr0;
  };
  source.requestAmxPermission = [cpu, permissionRequests] {
    if (permissionRequests)
      ++*permissionRequests;
    return cpu.amxPermission;
  };
  return source;
}

FakeCpu broadwell() {
  FakeCpu cpu;
  cpu.leaf1Ecx = sse42 | avx | fma | f16c | osxsave;
  cpu.leaf7Ebx = bmi1 | bmi2 | avx2;
  cpu.maxSubleaf7 = 0;
  cpu.xcr0 = ymmState;
  cpu.brand = "   Intel(R) Xeon(R) CPU E5-2680 v4 @ 2.40GHz";
  return cpu;
}

FakeCpu cascadeLake() {
  FakeCpu cpu = broadwell();
  cpu.leaf7Ebx |= f512 | dq | cd | bw | vl;
  cpu.leaf7Ecx = vnni;
  cpu.xcr0 = zmmState;
  return cpu;
}

FakeCpu alderLake() {
  FakeCpu cpu = broadwell();
  cpu.leaf7Ecx = gfni;
  cpu.maxSubleaf7 = 1;
  cpu.leaf7Sub1Eax = avxVnni;
  return cpu;
}

FakeCpu sapphireRapids() {
  FakeCpu cpu = cascadeLake();
  cpu.leaf7Ebx |= ifma;
  cpu.leaf7Ecx |= vbmi | vbmi2 | gfni | bitalg | vpopcntdq;
  cpu.leaf7Edx = amxBf16 | fp16 | amxTile | amxInt8;
  cpu.maxSubleaf7 = 1;
  cpu.leaf7Sub1Eax = avxVnni | bf16;
  cpu.xcr0 = tileState;
  cpu.amxPermission = true;
  return cpu;
}

FakeCpu zen5() {
  FakeCpu cpu = sapphireRapids();
  cpu.leaf7Edx = 0;
  cpu.xcr0 = zmmState;
  cpu.amxPermission = false;
  cpu.vendor = "AuthenticAMD";
  cpu.brand = "AMD Ryzen 9 9950X 16-Core Processor";
  return cpu;
}

} // namespace inf::test
