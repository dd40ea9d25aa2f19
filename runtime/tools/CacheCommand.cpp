// infrun cache list | clear: what compiling on the way has left on disk.
#include <ctime>

#include <fmt/format.h>

#include "runtime/base/Error.h"
#include "runtime/tools/Commands.h"
#include "runtime/tools/CompileFlags.h"

namespace inf {
namespace {

constexpr std::string_view help =
    R"(Usage: infrun cache (list | clear) [options]
Models compiled by `infrun MODEL`, kept so that the next start is quick.
  list               size, last use, what each was made from; latest first
  clear              remove all that no process runs
  --cache-dir DIR    default: $XDG_CACHE_HOME/inf, or ~/.cache/inf
  --help             print this
Example: infrun cache list
)";

std::string timeText(int64_t seconds) {
  const std::time_t time = seconds;
  std::tm parts = {};
  char text[32] = "";
  if (localtime_r(&time, &parts))
    std::strftime(text, sizeof text, "%Y-%m-%d %H:%M", &parts);
  return text;
}

void list(const ModelCache &cache, const std::string &directory, Output &out) {
  uint64_t total = 0;
  for (const ModelCache::Entry &entry : cache.list()) {
    total += entry.bytes;
    out.write(fmt::format("{:9.3f} GB  {}  {}.so  {}\n", double(entry.bytes) / 1e9,
                          entry.lastUse ? timeText(entry.lastUse) : "damaged         ", entry.key,
                          entry.about));
  }
  out.write(fmt::format("{:9.3f} GB  in {}\n", double(total) / 1e9, directory));
}

} // namespace

int cacheCommand(Arguments arguments, Output &out) {
  CLI::App app("", "infrun cache");
  std::string action, directory;
  app.add_option("action", action)->required();
  app.add_option("--cache-dir", directory);
  if (!parseArguments(app, help, std::move(arguments), out))
    return 0;
  ModelCache::Options options;
  options.directory = directory.empty() ? defaultCacheDirectory() : directory;
  const ModelCache cache(options);
  if (action == "list")
    list(cache, options.directory, out);
  else if (action == "clear")
    out.write(
        fmt::format("removed {:.3f} GB from {}\n", double(cache.clear()) / 1e9, options.directory));
  else
    fail(ErrorCode::Usage, "`infrun cache` takes list or clear, not \"{}\".", action);
  return 0;
}

} // namespace inf
