// Runs AVX-VNNI kernels on machines without AVX-VNNI: their vpdpbusd raises SIGILL, and a handler
// does in software what the instruction would have done (Intel SDM volume 2, VPDPBUSD, VEX.256).
#pragma once

#include "tests/codegen/IllegalInstruction.h"

namespace inf::test {

/// Emulates for the lifetime of the object. On a machine with AVX-VNNI it never gets to.
class VnniEmulation {
public:
  VnniEmulation();

private:
  IllegalInstructionHandler handler;
};

} // namespace inf::test
