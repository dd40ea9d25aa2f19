// Runs AVX-VNNI kernels on machines without AVX-VNNI: their vpdpbusd raises SIGILL, and a handler
// does in software what the instruction would have done (Intel SDM volume 2, VPDPBUSD, VEX.256).
// Every other instruction that this machine lacks still ends the test.
#pragma once

#include <csignal>

namespace inf::test {

/// Emulates for the lifetime of the object. On a machine with AVX-VNNI it never gets to.
class VnniEmulation {
public:
  VnniEmulation();
  ~VnniEmulation();
  VnniEmulation(const VnniEmulation &) = delete;
  VnniEmulation &operator=(const VnniEmulation &) = delete;

private:
  struct sigaction previous {};
};

} // namespace inf::test
