// Standard output and standard error of infrun.
#pragma once

#include <exception>
#include <string_view>

namespace inf {

/// Whoever read our output is gone (`infrun … | head`): nothing to say and nobody to say it to. The
/// program ends quietly with exit code 5.
class OutputClosed : public std::exception {};

/// Standard output, written at once so that a stream of tokens is one.
class Output {
public:
  /// Fails with OutputClosed when the reader is gone, with Io for any other reason (disk full).
  void write(std::string_view text);
  bool isTerminal() const;
};

/// "infrun: TEXT\n" on standard error; failures are ignored, there is no third place to tell.
void notice(std::string_view text);
bool errorIsTerminal();

} // namespace inf
