// Runs AMX kernels on machines without AMX: tile instructions raise SIGILL, and a handler does in
// software what they would have done (Intel SDM volume 2: LDTILECFG, STTILECFG, TILELOADD,
// TILELOADDT1, TILESTORED, TILEZERO, TILERELEASE, TDPBSSD, TDPBSUD, TDPBUSD, TDPBUUD, TDPBF16PS).
// What would fault on a CPU (no or an invalid configuration, shapes that don't fit) is not
// emulated and ends the test.
#pragma once

#include "tests/codegen/IllegalInstruction.h"

namespace inf::test {

/// Emulates for the lifetime of the object, from tiles in their initial state on. On a machine with
/// AMX it never gets to.
class TileEmulation {
public:
  TileEmulation();

  /// Instructions emulated in this thread since the object was made.
  uint64_t executed() const;
  /// Whether this thread's tiles are configured.
  bool isConfigured() const;

private:
  IllegalInstructionHandler handler;
};

} // namespace inf::test
