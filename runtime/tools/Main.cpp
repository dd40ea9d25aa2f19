// infrun: runs compiled models.
#include <csignal>
#include <cstdio>
#include <exception>
#include <new>

#include "runtime/base/Error.h"
#include "runtime/tools/Commands.h"

namespace {

struct Command {
  std::string_view name;
  int (*run)(inf::Arguments, inf::Output &);
};

constexpr Command commands[] = {{"chat", inf::chatCommand},   {"serve", inf::serveCommand},
                                {"score", inf::scoreCommand}, {"bench", inf::benchCommand},
                                {"trace", inf::traceCommand}, {"doctor", inf::doctorCommand},
                                {"fill", inf::fillCommand},   {"cache", inf::cacheCommand}};

int dispatch(inf::Arguments arguments, inf::Output &out) {
  std::string first = arguments.empty() ? "" : arguments.front();
  if (first == "--version") {
    out.write("infrun " INF_VERSION "\n");
    return 0;
  }
  for (const Command &command : commands)
    if (first == command.name) {
      arguments.erase(arguments.begin());
      return command.run(std::move(arguments), out);
    }
  return inf::runCommand(std::move(arguments), out);
}

int exitCode(inf::ErrorCode code, const char *message) {
  inf::notice(std::string("error: ") + message);
  return static_cast<int>(code);
}

} // namespace

int main(int argc, char **argv) {
  std::signal(SIGPIPE, SIG_IGN); // write() says it, and we leave in order
  try {
    inf::Output out;
    return dispatch(inf::Arguments(argv + (argc > 0 ? 1 : 0), argv + argc), out);
  } catch (const inf::OutputClosed &) {
    return static_cast<int>(inf::ErrorCode::Io);
  } catch (const inf::Error &error) {
    return exitCode(error.code, error.what());
  } catch (const std::bad_alloc &) {
    return exitCode(inf::ErrorCode::Machine,
                    "out of memory. Use a smaller --context, or raise the memory limit.");
  } catch (const std::exception &error) {
    return exitCode(inf::ErrorCode::Internal, error.what());
  }
}
