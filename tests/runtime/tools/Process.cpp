#include "tests/runtime/tools/Process.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <utility>

#include "runtime/base/Error.h"

namespace inf::test {
namespace {

struct Pipe {
  Pipe() {
    if (pipe(ends) != 0)
      fail(ErrorCode::Io, "pipe failed");
  }
  int ends[2];
};

void closeOnce(int &fd) {
  if (fd >= 0)
    close(std::exchange(fd, -1));
}

[[noreturn]] void becomeInfrun(const std::vector<std::string> &arguments, const Pipe &in,
                               const Pipe &out, const Pipe &err) {
  dup2(in.ends[0], STDIN_FILENO);
  dup2(out.ends[1], STDOUT_FILENO);
  dup2(err.ends[1], STDERR_FILENO);
  for (const Pipe *used : {&in, &out, &err})
    for (int fd : used->ends)
      close(fd);
  std::vector<char *> argv = {const_cast<char *>("infrun")};
  for (const std::string &argument : arguments)
    argv.push_back(const_cast<char *>(argument.c_str()));
  argv.push_back(nullptr);
  execv(INFRUN_PATH, argv.data());
  _exit(127);
}

} // namespace

Process::Process(const std::vector<std::string> &arguments) {
  std::signal(SIGPIPE, SIG_IGN); // an infrun that ends early must not end the test
  Pipe inPipe, outPipe, errPipe;
  pid = fork();
  if (pid == 0) {
    std::signal(SIGPIPE, SIG_DFL);
    becomeInfrun(arguments, inPipe, outPipe, errPipe);
  }
  // A pipe of one page: a program with more to say waits for us instead of being done.
  fcntl(outPipe.ends[0], F_SETPIPE_SZ, 4096);
  close(inPipe.ends[0]);
  close(outPipe.ends[1]);
  close(errPipe.ends[1]);
  in = inPipe.ends[1];
  out = outPipe.ends[0];
  err = errPipe.ends[0];
}

Process::~Process() {
  closeInput();
  closeOutput();
  closeOnce(err);
  if (pid > 0) {
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
  }
}

void Process::write(const std::string &input) {
  for (size_t done = 0; done < input.size();) {
    ssize_t written = ::write(in, input.data() + done, input.size() - done);
    if (written <= 0)
      return; // it does not want more
    done += static_cast<size_t>(written);
  }
}

void Process::closeInput() { closeOnce(in); }
void Process::closeOutput() { closeOnce(out); }
void Process::signal(int number) { kill(pid, number); }

std::string Process::readSome() {
  char buffer[4096];
  ssize_t got = read(out, buffer, sizeof buffer);
  return got > 0 ? std::string(buffer, static_cast<size_t>(got)) : std::string();
}

Finished Process::finish() {
  closeInput();
  Finished finished;
  std::pair<int *, std::string *> streams[] = {{&out, &finished.out}, {&err, &finished.err}};
  while (out >= 0 || err >= 0) { // both at once: one full pipe would block the program
    pollfd ready[] = {{out, POLLIN, 0}, {err, POLLIN, 0}};
    poll(ready, 2, -1);
    for (int i = 0; i < 2; ++i) {
      auto [fd, text] = streams[i];
      if (*fd < 0 || ready[i].revents == 0)
        continue;
      char buffer[4096];
      ssize_t got = read(*fd, buffer, sizeof buffer);
      if (got > 0)
        text->append(buffer, static_cast<size_t>(got));
      else
        closeOnce(*fd);
    }
  }
  int status = 0;
  waitpid(std::exchange(pid, -1), &status, 0);
  finished.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return finished;
}

Finished infrun(const std::vector<std::string> &arguments, const std::string &input) {
  Process process(arguments);
  process.write(input);
  return process.finish();
}

} // namespace inf::test
