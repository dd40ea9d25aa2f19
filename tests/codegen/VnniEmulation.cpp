#include "tests/codegen/VnniEmulation.h"

#include <array>
#include <cstring>

namespace inf::test {
namespace {

/// VEX.256.66.0F38.W0 50 /r with a register as its last operand: sums, unsigned bytes (vvvv),
/// signed bytes (rm).
bool isDot(const VexInstruction &instruction) {
  return instruction.map == 2 && instruction.prefix == 1 && instruction.opcode == 0x50 &&
         !instruction.wide && instruction.ymm && !instruction.hasMemory;
}

/// A saved ymm register, in the two places where a signal frame keeps it (Intel SDM volume 1,
/// 13.4: legacy region at 160, header at 512, upper halves at 576).
class SavedYmm {
public:
  using Bytes = std::array<uint8_t, 32>;
  explicit SavedYmm(const ucontext_t &context)
      : area(reinterpret_cast<uint8_t *>(context.uc_mcontext.fpregs)) {}

  Bytes read(unsigned number) const {
    Bytes bytes{};
    std::memcpy(bytes.data(), area + 160 + 16 * number, 16);
    if (area[512] & upperHalves)
      std::memcpy(bytes.data() + 16, area + 576 + 16 * number, 16);
    return bytes;
  }
  void write(unsigned number, const Bytes &bytes) const {
    if (!(area[512] & upperHalves))
      std::memset(area + 576, 0, 256); // in their initial state: all zero
    area[512] |= upperHalves | sse;
    std::memcpy(area + 160 + 16 * number, bytes.data(), 16);
    std::memcpy(area + 576 + 16 * number, bytes.data() + 16, 16);
  }

private:
  static constexpr uint8_t sse = 2, upperHalves = 4;
  uint8_t *const area;
};

bool emulateDot(const VexInstruction &instruction, ucontext_t &context) {
  if (!isDot(instruction))
    return false;
  const SavedYmm registers(context);
  SavedYmm::Bytes sums = registers.read(instruction.reg);
  const SavedYmm::Bytes u = registers.read(instruction.vvvv);
  const SavedYmm::Bytes s = registers.read(instruction.rm);
  for (size_t lane = 0; lane < 32; lane += 4) {
    int32_t sum;
    std::memcpy(&sum, &sums[lane], 4);
    for (size_t i = lane; i < lane + 4; ++i)
      sum += u[i] * static_cast<int8_t>(s[i]);
    std::memcpy(&sums[lane], &sum, 4);
  }
  registers.write(instruction.reg, sums);
  return true;
}

} // namespace

VnniEmulation::VnniEmulation() : handler(emulateDot) {}

} // namespace inf::test
