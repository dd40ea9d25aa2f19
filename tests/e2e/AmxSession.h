// Running models compiled for AMX where this CPU may have none: the test emulates its tiles
// (tests/codegen/TileEmulation.h).
#pragma once

#include <memory>
#include <string>

#include "codegen/Target.h"
#include "runtime/loader/CheckMachine.h"
#include "tests/e2e/Sessions.h"

namespace inf::test {

/// As if this CPU had all that the target amx has.
inline std::unique_ptr<Session> openAmxSession(const std::string &path, unsigned threads,
                                               uint32_t context = 1024, uint32_t sequences = 1) {
  LoadOptions load;
  load.machine = hostMachine();
  load.machine->features = load.machine->features | targetByName("amx").features;
  SessionOptions options;
  options.context = context;
  options.maxSequences = sequences;
  options.threads.threads = threads;
  options.threads.pin = false; // tests run beside each other
  return std::make_unique<Session>(Model::load(path, load), options);
}

} // namespace inf::test
