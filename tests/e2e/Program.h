// Runs the built programs as a user does.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace inf::test {

struct Finished {
  int code = -1; ///< exit code; 128 + signal when a signal ended it
  std::string out, err;
  uint64_t peakBytes =
      0; ///< most resident memory, mapped files and the moment before exec included
};

struct RunLimits {
  std::string directory;             ///< to run in; empty: this process's
  std::optional<uint64_t> fileBytes; ///< no file may grow beyond (a full disk without privileges)
  std::optional<uint64_t> addressSpaceBytes; ///< as `ulimit -v`
};

using Arguments = std::vector<std::string>;

Finished run(const std::string &program, const Arguments &arguments, const RunLimits &limits = {});
Finished infc(const Arguments &arguments, const RunLimits &limits = {});
Finished infrun(const Arguments &arguments, const RunLimits &limits = {});

/// The program must end with `code`, by no signal, print nothing to stdout and say all of `parts`
/// in one message on stderr.
void expectRefused(const Finished &finished, int code, const std::vector<std::string> &parts);

} // namespace inf::test
