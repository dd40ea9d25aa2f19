#include "tests/codegen/VnniEmulation.h"

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <optional>

#include <sys/ucontext.h>

#include "runtime/base/Error.h"

namespace inf::test {
namespace {

/// The three registers of `vpdpbusd ymm, ymm, ymm`.
struct DotOperands {
  unsigned to, unsignedBytes, signedBytes;
};
constexpr unsigned instructionBytes = 5;

/// VEX.256.66.0F38.W0 50 /r with a register as its last operand: C4, RXB mmmmm, W vvvv L pp, 50,
/// modrm; R, X, B and vvvv inverted.
std::optional<DotOperands> decodeDot(const uint8_t *code) {
  const unsigned map = code[1], fields = code[2], modrm = code[4];
  if (code[0] != 0xC4 || (map & 0x1F) != 2 || (fields & 0x87) != 0x05 || code[3] != 0x50 ||
      modrm >> 6 != 3)
    return std::nullopt;
  const unsigned r = map & 0x80 ? 0 : 8, b = map & 0x20 ? 0 : 8;
  return DotOperands{r | (modrm >> 3 & 7), ~fields >> 3 & 15, b | (modrm & 7)};
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

void emulateDot(const SavedYmm &registers, DotOperands operands) {
  SavedYmm::Bytes sums = registers.read(operands.to);
  const SavedYmm::Bytes u = registers.read(operands.unsignedBytes);
  const SavedYmm::Bytes s = registers.read(operands.signedBytes);
  for (size_t lane = 0; lane < 32; lane += 4) {
    int32_t sum;
    std::memcpy(&sum, &sums[lane], 4);
    for (size_t i = lane; i < lane + 4; ++i)
      sum += u[i] * static_cast<int8_t>(s[i]);
    std::memcpy(&sums[lane], &sum, 4);
  }
  registers.write(operands.to, sums);
}

/// Leaves anything else to the default action, which the instruction then meets again.
void onIllegalInstruction(int, siginfo_t *, void *frame) {
  auto &context = *static_cast<ucontext_t *>(frame);
  auto &rip = context.uc_mcontext.gregs[REG_RIP];
  const std::optional<DotOperands> operands = decodeDot(reinterpret_cast<const uint8_t *>(rip));
  if (!operands) {
    signal(SIGILL, SIG_DFL);
    return;
  }
  emulateDot(SavedYmm(context), *operands);
  rip += instructionBytes;
}

} // namespace

VnniEmulation::VnniEmulation() {
  struct sigaction action {};
  action.sa_sigaction = onIllegalInstruction;
  action.sa_flags = SA_SIGINFO;
  if (sigaction(SIGILL, &action, &previous) != 0)
    fail(ErrorCode::Internal, "sigaction for SIGILL: {}", errnoText(errno));
}

VnniEmulation::~VnniEmulation() { sigaction(SIGILL, &previous, nullptr); }

} // namespace inf::test
