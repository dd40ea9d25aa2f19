#include "tests/e2e/Program.h"

#include <csignal>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/base/Error.h"

namespace inf::test {
namespace {

/// What a program prints goes to a file in memory: no pipe can fill up and block it.
class Captured {
public:
  Captured() : fd(memfd_create("output", MFD_CLOEXEC)) {
    if (fd < 0)
      fail(ErrorCode::Io, "memfd_create failed: {}", errnoText(errno));
  }
  ~Captured() { close(fd); }
  Captured(const Captured &) = delete;
  Captured &operator=(const Captured &) = delete;

  std::string text() const {
    std::string text(size_t(lseek(fd, 0, SEEK_END)), '\0');
    if (pread(fd, text.data(), text.size(), 0) != ssize_t(text.size()))
      fail(ErrorCode::Io, "reading a program's output failed: {}", errnoText(errno));
    return text;
  }
  const int fd;
};

void applyLimits(const RunLimits &limits) {
  if (!limits.directory.empty() && chdir(limits.directory.c_str()) != 0)
    _exit(126);
  if (limits.fileBytes) {
    std::signal(SIGXFSZ, SIG_IGN); // as on a full disk: write fails, no signal
    const rlimit limit = {*limits.fileBytes, *limits.fileBytes};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  if (limits.addressSpaceBytes) {
    const rlimit limit = {*limits.addressSpaceBytes, *limits.addressSpaceBytes};
    setrlimit(RLIMIT_AS, &limit);
  }
}

} // namespace

Finished run(const std::string &program, const Arguments &arguments, const RunLimits &limits) {
  Captured out, err;
  std::vector<char *> argv = {const_cast<char *>(program.c_str())};
  for (const std::string &argument : arguments)
    argv.push_back(const_cast<char *>(argument.c_str()));
  argv.push_back(nullptr);
  const pid_t pid = fork();
  if (pid == 0) {
    dup2(open("/dev/null", O_RDONLY), STDIN_FILENO);
    dup2(out.fd, STDOUT_FILENO);
    dup2(err.fd, STDERR_FILENO);
    applyLimits(limits);
    execv(program.c_str(), argv.data());
    _exit(127);
  }
  int status = 0;
  rusage usage = {};
  if (pid < 0 || wait4(pid, &status, 0, &usage) != pid)
    fail(ErrorCode::Io, "running {} failed: {}", program, errnoText(errno));
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), out.text(), err.text(),
          uint64_t(usage.ru_maxrss) * 1024};
}

Finished infc(const Arguments &arguments, const RunLimits &limits) {
  return run(INFC_PATH, arguments, limits);
}

Finished infrun(const Arguments &arguments, const RunLimits &limits) {
  return run(INFRUN_PATH, arguments, limits);
}

void expectRefused(const Finished &finished, int code, const std::vector<std::string> &parts) {
  EXPECT_EQ(finished.code, code) << finished.err;
  EXPECT_EQ(finished.out, "");
  EXPECT_THAT(finished.err, testing::HasSubstr(": error: "));
  for (const std::string &part : parts)
    EXPECT_THAT(finished.err, testing::HasSubstr(part));
}

} // namespace inf::test
