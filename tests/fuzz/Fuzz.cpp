#include "tests/fuzz/Fuzz.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <sys/mman.h>
#include <unistd.h>

namespace inf::test {

void finding(const char *what) {
  std::fprintf(stderr, "finding: %s\n", what);
  std::abort();
}

MemoryFile::MemoryFile(const uint8_t *data, size_t size) : fd(memfd_create("input", MFD_CLOEXEC)) {
  require(fd >= 0, "no memory file");
  for (size_t done = 0; done < size;) {
    ssize_t written = ::write(fd, data + done, size - done);
    require(written > 0, "a memory file could not be written");
    done += size_t(written);
  }
}

MemoryFile::~MemoryFile() { ::close(fd); }

std::string MemoryFile::path() const { return "/proc/self/fd/" + std::to_string(fd); }

Folder::Folder() {
  std::string name = (std::filesystem::temp_directory_path() / "inf-fuzz-XXXXXX").string();
  require(mkdtemp(name.data()) != nullptr, "no temporary folder");
  root = name;
}

Folder::~Folder() {
  std::error_code ignored;
  std::filesystem::remove_all(root, ignored);
}

void Folder::write(const std::string &name, std::string_view bytes) const {
  std::ofstream(path(name), std::ios::binary) << bytes;
}

std::string Folder::path(const std::string &name) const { return root + "/" + name; }

std::string sourceFile(const std::string &relative) {
  std::ifstream file(std::string(INF_SOURCE_DIR) + "/" + relative, std::ios::binary);
  require(file.good(), "a file of the repository is missing");
  return {std::istreambuf_iterator<char>(file), {}};
}

} // namespace inf::test
