// The code of a model.so in this process: dlopen, the one symbol, dlclose.
#pragma once

#include <string>

#include "runtime/abi/inf_abi.h"

namespace inf {

/// Owns one dlopen handle. dlopen runs the file's constructors: the caller has checked everything
/// that can be read without running it (readPayloadInfo, checkMachine).
class CodeLibrary {
public:
  /// Fails with BadInput when the library can't be opened, exports no `inf_model_query` or does not
  /// serve our ABI version.
  explicit CodeLibrary(const std::string &path);
  ~CodeLibrary();
  CodeLibrary(const CodeLibrary &) = delete;
  CodeLibrary &operator=(const CodeLibrary &) = delete;

  const inf_model &model() const { return *table; }

private:
  void *handle = nullptr;
  const inf_model *table = nullptr;
};

} // namespace inf
