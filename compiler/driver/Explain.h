// Why a compiled model has the kernels and formats it has.
#pragma once

#include <string>

#include "runtime/format/Payload.h"

namespace inf {

/// For each kernel the rows of the kernel table before the one that was taken, with what was
/// lacking, and why that one; for each way a format was decided the weights it decided. From the
/// manifest alone: the same on every machine.
std::string explainText(const PayloadInfo &info);

} // namespace inf
