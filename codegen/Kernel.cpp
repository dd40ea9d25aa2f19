#include "codegen/Kernel.h"

#include <xbyak/xbyak.h>

#include "codegen/Generators.h"
#include "runtime/base/Error.h"

namespace inf {

KernelCode generateKernel(const KernelSpec &spec) {
  if (std::optional<std::string> reason = whyNotGenerable(spec))
    fail(ErrorCode::Usage, "cannot generate kernel {}: {}", kernelSymbol(spec), *reason);
  try {
    return spec.op == KernelOp::Linear ? generateLinear(spec) : generateAttention(spec);
  } catch (const Xbyak::Error &error) {
    fail(ErrorCode::Internal, "the assembler refused kernel {}: {}; this is a bug in its generator",
         kernelSymbol(spec), error.what());
  }
}

} // namespace inf
