// A stand-in for a full disk that needs no privileges: the kernel refuses to let files grow beyond
// a size while an object of this lives.
#pragma once

#include <csignal>

#include <sys/resource.h>

namespace inf::test {

class FileSizeLimit {
public:
  explicit FileSizeLimit(rlim_t bytes) : oldHandler(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &old);
    const rlimit limit = {bytes, old.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &old);
    std::signal(SIGXFSZ, oldHandler);
  }

private:
  rlimit old = {};
  void (*oldHandler)(int);
};

} // namespace inf::test
