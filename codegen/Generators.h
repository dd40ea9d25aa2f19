// One generator per op; generateKernel() calls them once whyNotGenerable() has nothing to say.
#pragma once

#include "codegen/Kernel.h"

namespace inf {

KernelCode generateLinear(const KernelSpec &spec);
KernelCode generateAttention(const KernelSpec &spec);

} // namespace inf
