// What the fuzz targets share. A target is one function that must return for every input: an Error
// that blames the input is an answer, everything else is a finding.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/Error.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

namespace inf::test {

inline std::string_view textOf(const uint8_t *data, size_t size) {
  return {reinterpret_cast<const char *>(data), size};
}

/// Ends the process as a finding; not by an assertion, which a release build would drop.
[[noreturn]] void finding(const char *what);
inline void require(bool condition, const char *what) {
  if (!condition)
    finding(what);
}

/// Runs `action`; false when it refused the input. An Internal error is a finding: it calls an
/// input a bug of ours.
template <typename Action> bool accepts(Action action) {
  try {
    action();
    return true;
  } catch (const Error &error) {
    require(error.code != ErrorCode::Internal, error.what());
    require(error.what()[0] != '\0', "an error without a message");
    return false;
  }
}

/// The bytes as a regular file without a disk, for readers that take a path.
class MemoryFile {
public:
  MemoryFile(const uint8_t *data, size_t size);
  MemoryFile(const MemoryFile &) = delete;
  MemoryFile &operator=(const MemoryFile &) = delete;
  ~MemoryFile();
  std::string path() const;

private:
  int fd;
};

/// A folder that lives as long as the process and is removed at its end.
class Folder {
public:
  Folder();
  Folder(const Folder &) = delete;
  Folder &operator=(const Folder &) = delete;
  ~Folder();
  void write(const std::string &name, std::string_view bytes) const;
  std::string path(const std::string &name = "") const;

private:
  std::string root;
};

/// A file of the repository, as text.
std::string sourceFile(const std::string &relative);

} // namespace inf::test
