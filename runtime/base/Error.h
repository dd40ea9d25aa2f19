// The one error type of the runtime, the frontends and the tools.
//
// A message says what happened, what was expected against what was found, and what to do next.
// LLVM and MLIR are built without exceptions: never let an Error travel through their frames
// (passes report through MLIR diagnostics instead).
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace inf {

/// Why a program ends; the value is the process's exit code (README.md lists them).
enum class ErrorCode : int {
  Internal = 1, ///< a bug of ours
  Usage = 2,    ///< a flag, a request or a combination that cannot work
  Machine = 3,  ///< this CPU or OS lacks what the model needs
  BadInput = 4, ///< a model, checkpoint, tokenizer or .so that is broken or unknown
  Io = 5,       ///< reading or writing failed (missing file, disk full)
  TooLong = 6,  ///< prompt or request beyond the context
};

class Error : public std::runtime_error {
public:
  Error(ErrorCode errorCode, const std::string &message)
      : std::runtime_error(message), code(errorCode) {}

  const ErrorCode code;
};

/// Throws an Error with a formatted message.
template <typename... Args>
[[noreturn]] void fail(ErrorCode code, fmt::format_string<Args...> format, Args &&...args) {
  throw Error(code, fmt::format(format, std::forward<Args>(args)...));
}

/// A readable form of errno, for messages.
std::string errnoText(int error);

} // namespace inf
