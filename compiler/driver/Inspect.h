// What a model.so says about itself, without running any of it.
#pragma once

#include <string>

#include "runtime/format/Payload.h"

namespace inf {

/// Target and features, kernels, tensors with format and bytes, memory plan, bytes a token reads.
std::string inspectText(const PayloadInfo &info);
/// The same as JSON; `manifest` is the payload's own.
std::string inspectJson(const PayloadInfo &info);
/// Every function of the library, disassembled.
std::string inspectAssembly(const std::string &path);

/// The kernel table: op, format, ISA, row tile, features, why.
std::string kernelTableText();

} // namespace inf
