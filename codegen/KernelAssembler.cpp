#include "codegen/KernelAssembler.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "runtime/base/Error.h"

namespace inf {

static constexpr int argumentRegister = 7; // rdi

/// Caller-saved registers first, so that small kernels save nothing.
static std::vector<int> generalRegisters(unsigned saved) {
  std::vector<int> numbers = {0, 1, 2, 6, 7, 8, 9, 10, 11}; // rax rcx rdx rsi rdi r8 r9 r10 r11
  if (saved > calleeSaved.size())
    fail(ErrorCode::Internal, "{} callee-saved registers asked for, there are {}", saved,
         calleeSaved.size());
  numbers.insert(numbers.end(), calleeSaved.begin(), calleeSaved.begin() + saved);
  return numbers;
}

static std::vector<int> vectorRegisters(KernelIsa isa) {
  std::vector<int> numbers(isWide(isa) ? 32 : 16);
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

/// k0 is left out: as a write mask it means "all lanes".
static std::vector<int> maskRegisters(KernelIsa isa) {
  if (!isWide(isa))
    return {};
  return {1, 2, 3, 4, 5, 6, 7};
}

KernelAssembler::KernelAssembler(KernelIsa kernelIsa, unsigned saved, uint32_t localBytes)
    : Xbyak::CodeGenerator(capacity, storage.data()), isa(kernelIsa),
      pool(generalRegisters(saved), vectorRegisters(kernelIsa), maskRegisters(kernelIsa)),
      savedCount(saved) {
  code.frameBytes = localBytes;
  setDefaultJmpNEAR(true); // bodies are longer than a short jump reaches
  prologue();
}

Gpr KernelAssembler::takeArguments() {
  return Gpr(pool.takeExactly(RegisterFile::General, argumentRegister, "args"));
}

static uint32_t offsetOf(const Xbyak::CodeGenerator &assembler) {
  return static_cast<uint32_t>(assembler.getSize());
}

void KernelAssembler::prologue() {
  for (unsigned i = 0; i < savedCount; ++i) {
    push(Xbyak::Reg64(calleeSaved[i]));
    code.pushEnds.push_back(offsetOf(*this));
  }
  if (code.frameBytes == 0)
    return;
  sub(rsp, code.frameBytes);
  code.frameEnd = offsetOf(*this);
}

void KernelAssembler::epilogue() {
  vzeroupper(); // callers may run SSE code
  if (code.frameBytes != 0) {
    add(rsp, code.frameBytes);
    code.frameFreed = offsetOf(*this);
  }
  for (unsigned i = savedCount; i-- > 0;) {
    pop(Xbyak::Reg64(calleeSaved[i]));
    code.popEnds.push_back(offsetOf(*this));
  }
  ret();
}

/// Widest first: each is then aligned to its own size without padding in between.
void KernelAssembler::placeConstants() {
  if (constants.empty())
    return;
  std::vector<const std::vector<uint32_t> *> order;
  for (const auto &entry : constants)
    order.push_back(&entry.first);
  std::stable_sort(order.begin(), order.end(),
                   [](const auto *a, const auto *b) { return a->size() > b->size(); });
  while (getSize() % 64 != 0)
    db(0xCC); // int3: nobody may run into the constants
  for (const std::vector<uint32_t> *words : order) {
    L(constants.at(*words));
    for (uint32_t bits : *words)
      dd(bits);
  }
}

KernelCode KernelAssembler::finish(std::string symbol) {
  epilogue();
  code.codeBytes = offsetOf(*this);
  placeConstants();
  if (hasUndefinedLabel())
    fail(ErrorCode::Internal, "kernel {} jumps to a label that was never placed", symbol);
  code.symbol = std::move(symbol);
  code.bytes.assign(getCode(), getCode() + getSize());
  return code;
}

} // namespace inf
