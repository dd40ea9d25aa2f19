#include "tests/e2e/Terminal.h"

#include <poll.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>

#include <gtest/gtest.h>

#include "runtime/base/Error.h"

namespace inf::test {
namespace {

constexpr std::chrono::seconds patience{60};

} // namespace

Terminal::Terminal(const Arguments &arguments, const std::string &stateFolder) {
  std::string program = INFRUN_PATH;
  std::vector<char *> argv = {program.data()};
  for (const std::string &argument : arguments)
    argv.push_back(const_cast<char *>(argument.c_str()));
  argv.push_back(nullptr);
  winsize size = {24, 4000, 0, 0}; // wide: no line is broken by the editor
  pid = forkpty(&fd, nullptr, nullptr, &size);
  if (pid == 0) {
    setenv("XDG_STATE_HOME", stateFolder.c_str(), 1);
    setenv("HOME", stateFolder.c_str(), 1);
    setenv("TERM", "xterm", 1);
    execv(argv[0], argv.data());
    _exit(127);
  }
  if (pid < 0)
    fail(ErrorCode::Io, "forkpty failed: {}", errnoText(errno));
}

Terminal::~Terminal() {
  close(fd);
  if (pid < 0)
    return;
  kill(pid, SIGKILL);
  waitpid(pid, nullptr, 0);
}

void Terminal::type(const std::string &keys) {
  ASSERT_EQ(write(fd, keys.data(), keys.size()), static_cast<ssize_t>(keys.size()));
}

bool Terminal::readSome() {
  pollfd ready = {fd, POLLIN, 0};
  char part[4096];
  ssize_t got = poll(&ready, 1, 1000) > 0 ? read(fd, part, sizeof part) : 0;
  for (ssize_t i = 0; i < got; ++i)
    if (part[i] != '\r')
      shown += part[i];
  return got > 0 || ready.revents == 0;
}

std::string Terminal::waitFor(const std::string &text) {
  auto end = std::chrono::steady_clock::now() + patience;
  size_t at;
  while ((at = shown.find(text)) == std::string::npos)
    if (std::chrono::steady_clock::now() > end || !readSome()) {
      ADD_FAILURE() << "'" << text << "' did not come; shown: " << shown;
      return "";
    }
  std::string seen = shown.substr(0, at + text.size());
  shown.erase(0, seen.size());
  return seen;
}

void Terminal::signal(int number) { kill(pid, number); }

int Terminal::finish() {
  auto end = std::chrono::steady_clock::now() + patience;
  int status = 0;
  pid_t done = 0;
  while ((done = waitpid(pid, &status, WNOHANG)) == 0 && std::chrono::steady_clock::now() < end)
    readSome(); // what nobody reads could keep it from ending
  if (done != pid) {
    ADD_FAILURE() << "infrun does not end";
    return -1;
  }
  pid = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

} // namespace inf::test
