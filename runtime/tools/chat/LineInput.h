// Lines that a user types or a pipe brings.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "runtime/tools/Interrupts.h"

namespace inf {

struct LineRead {
  enum class Kind : uint8_t {
    Text,
    End,         ///< end of input (Ctrl-D)
    Interrupted, ///< Ctrl-C; `text` is what had been typed
  };
  Kind kind = Kind::End;
  std::string text; ///< without the line's end
};

class LineInput {
public:
  virtual ~LineInput() = default;
  /// Waits for a line. Fails with Io when reading fails, TooLong for a line above 16 MiB.
  virtual LineRead read(const std::string &prompt) = 0;
};

/// Whether standard input can be read now, or an interrupt came first: true for input.
bool waitForInput(Interrupts &interrupts);

/// Standard input as it is; prompts are not shown.
class PlainInput final : public LineInput {
public:
  explicit PlainInput(Interrupts &usedInterrupts) : interrupts(usedInterrupts) {}
  LineRead read(const std::string &prompt) override;

private:
  LineRead take(size_t bytes, size_t skip);

  Interrupts &interrupts;
  std::string buffer;
  bool ended = false;
};

} // namespace inf
