#include "compiler/driver/MemoryLimit.h"

#include <charconv>
#include <limits>

#include "runtime/base/Error.h"
#include "runtime/cpu/Memory.h"

namespace inf {
namespace {

/// What is named must be enough for the next run, which may hold more of the program's own files:
/// how many of their pages a fault maps depends on what the page cache has.
constexpr uint64_t differenceOfRuns = 16 << 20;

/// Rounded up.
std::string megabytes(uint64_t bytes) { return fmt::format("{}M", (bytes >> 20) + 1); }

uint64_t residentSoFar() {
  const std::optional<uint64_t> bytes = peakResidentBytes();
  if (!bytes)
    fail(ErrorCode::Machine, "--max-memory can't be kept: /proc/self/status does not say how much "
                             "memory this process has. Leave it out.");
  return *bytes;
}

[[noreturn]] void refuse(const CompileOptions &options, uint64_t needed, const char *what) {
  fail(ErrorCode::Machine,
       "--max-memory={} is too little: {} needs {}. Give that much; nothing was written.",
       megabytes(options.maxMemory - 1), what, megabytes(needed + differenceOfRuns));
}

} // namespace

uint64_t parseMemorySize(const std::string &text) {
  uint64_t number = 0;
  const char *end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  const std::string_view suffix(stop, size_t(end - stop));
  const int shift = suffix.empty()  ? 0
                    : suffix == "k" ? 10
                    : suffix == "M" ? 20
                    : suffix == "G" ? 30
                                    : -1;
  if (error != std::errc() || shift < 0 || number == 0 ||
      number > (std::numeric_limits<uint64_t>::max() >> 1 >> shift))
    fail(ErrorCode::Usage,
         "--max-memory {} is no size; expected a whole number of bytes, above 0, that may end in "
         "k, M or G",
         text);
  return number << shift;
}

void requireCompilerMemory(const CompileOptions &options) {
  if (!options.maxMemory)
    return;
  const uint64_t needed = residentSoFar() + compilerBytes;
  if (needed > options.maxMemory)
    refuse(options, needed, "compiling this model");
}

unsigned threadsWithinMemory(const CompileOptions &options, const Manifest &manifest) {
  if (!options.maxMemory)
    return options.threads;
  const uint64_t held = residentSoFar();
  for (unsigned threads = options.threads; threads > 0; --threads)
    if (held + packingMemory(manifest, threads) <= options.maxMemory) {
      if (threads < options.threads && options.report)
        options.report(
            fmt::format("--max-memory: {} of {} threads pack weights", threads, options.threads));
      return threads;
    }
  refuse(options, held + packingMemory(manifest, 1), "packing its weights on one thread");
}

} // namespace inf
