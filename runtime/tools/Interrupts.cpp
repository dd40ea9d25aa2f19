#include "runtime/tools/Interrupts.h"

#include <sys/signalfd.h>
#include <unistd.h>

#include <csignal>

namespace inf {
namespace {

sigset_t interruptOnly() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  return set;
}

} // namespace

Interrupts::Interrupts() {
  sigset_t set = interruptOnly();
  fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
  if (fd >= 0)
    pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

Interrupts::~Interrupts() {
  if (fd < 0)
    return;
  arrived(); // one that nobody asked for must not end the program now
  sigset_t set = interruptOnly();
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
  close(fd);
}

void Interrupts::forget() {
  arrived(); // takes it from the descriptor
  seen = false;
}

bool Interrupts::arrived() {
  signalfd_siginfo info;
  if (!seen && fd >= 0)
    seen = read(fd, &info, sizeof info) == static_cast<ssize_t>(sizeof info);
  return seen;
}

} // namespace inf
