#include "runtime/tools/serve/ShutdownSignals.h"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>

#include "runtime/base/Error.h"

namespace inf {
namespace {

sigset_t both() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  return set;
}

/// Whoever waits for the process sees the signal that ended it.
[[noreturn]] void endBy(int signal) {
  std::signal(signal, SIG_DFL);
  const sigset_t set = both();
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
  raise(signal);
  _exit(128 + signal);
}

} // namespace

ShutdownSignals::ShutdownSignals() {
  const sigset_t set = both();
  signals = signalfd(-1, &set, SFD_CLOEXEC);
  end = eventfd(0, EFD_CLOEXEC);
  if (signals < 0 || end < 0)
    fail(ErrorCode::Machine, "no descriptor for signals: {}. Allow more open files.",
         errnoText(errno));
  pthread_sigmask(SIG_BLOCK, &set, &before);
  thread = std::thread([this] { watch(); });
}

ShutdownSignals::~ShutdownSignals() {
  const uint64_t one = 1;
  while (write(end, &one, sizeof one) < 0 && errno == EINTR) {
  }
  thread.join();
  release();
  close(signals);
  close(end);
}

/// Until the first signal that is not the program's end, or the destructor.
void ShutdownSignals::watch() {
  while (true) {
    pollfd ready[] = {{signals, POLLIN, 0}, {end, POLLIN, 0}};
    if (poll(ready, 2, -1) < 0)
      continue;
    if (ready[1].revents != 0)
      return;
    signalfd_siginfo info;
    if (read(signals, &info, sizeof info) != ssize_t(sizeof info))
      continue;
    std::lock_guard lock(mutex);
    if (!orderly)
      endBy(static_cast<int>(info.ssi_signo));
    arrived = true;
    changed.notify_all();
    return;
  }
}

void ShutdownSignals::ready() {
  std::lock_guard lock(mutex);
  orderly = true;
}

void ShutdownSignals::wait() {
  std::unique_lock lock(mutex);
  changed.wait(lock, [this] { return arrived; });
}

void ShutdownSignals::release() { pthread_sigmask(SIG_SETMASK, &before, nullptr); }

} // namespace inf
