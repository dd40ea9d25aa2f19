// Runs a target once on each file of some folders, without libFuzzer: what was found stays a test.
// No single allocation may be larger than four times the input, so that a count in a file of a few
// bytes can't take the machine's memory.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <new>
#include <vector>

#include "tests/fuzz/Fuzz.h"

extern "C" __attribute__((weak)) int LLVMFuzzerInitialize(int *argc, char ***argv);

namespace {

// Buffers of a fixed size, such as the 4 MiB a description may have, are no claim of the input.
constexpr size_t always = size_t{8} << 20;
std::atomic<size_t> mostAllowed{SIZE_MAX};

std::vector<uint8_t> readFile(const std::filesystem::path &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::filesystem::path> filesOf(const char *folder) {
  std::vector<std::filesystem::path> files;
  for (const auto &entry : std::filesystem::directory_iterator(folder))
    if (entry.is_regular_file())
      files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

void replay(const std::filesystem::path &path) {
  std::fprintf(stderr, "%s\n", path.c_str()); // first: a crash then says where
  std::vector<uint8_t> bytes = readFile(path);
  mostAllowed = 4 * bytes.size() + always;
  LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
  mostAllowed = SIZE_MAX;
}

} // namespace

void *operator new(size_t size) {
  if (size > mostAllowed) {
    std::fprintf(stderr, "an allocation of %zu bytes, at most %zu are allowed for this input\n",
                 size, mostAllowed.load());
    std::abort();
  }
  void *memory = std::malloc(size ? size : 1);
  if (!memory)
    throw std::bad_alloc();
  return memory;
}
void operator delete(void *memory) noexcept { std::free(memory); }
void operator delete(void *memory, size_t) noexcept { std::free(memory); }

int main(int argc, char **argv) {
  if (LLVMFuzzerInitialize)
    LLVMFuzzerInitialize(&argc, &argv);
  size_t count = 0;
  for (int i = 1; i < argc; ++i)
    for (const auto &path : filesOf(argv[i])) {
      replay(path);
      ++count;
    }
  std::printf("%zu inputs\n", count);
  return count == 0; // an empty corpus tests nothing
}
