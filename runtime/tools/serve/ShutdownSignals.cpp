#include "runtime/tools/serve/ShutdownSignals.h"

#include <pthread.h>

namespace inf {
namespace {

sigset_t both() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  return set;
}

} // namespace

ShutdownSignals::ShutdownSignals() {
  const sigset_t set = both();
  pthread_sigmask(SIG_BLOCK, &set, &before);
}

ShutdownSignals::~ShutdownSignals() { release(); }

void ShutdownSignals::wait() const {
  const sigset_t set = both();
  int signal = 0;
  while (sigwait(&set, &signal) != 0) {
  }
}

void ShutdownSignals::release() { pthread_sigmask(SIG_SETMASK, &before, nullptr); }

} // namespace inf
