#include "runtime/tools/CompileFlags.h"

#include <cstdio>

#include <fmt/format.h>

#include "runtime/base/Error.h"

namespace inf {
namespace {

/// One line while it compiles, gone when it is done.
CompileWatch terminalWatch(const std::string &path) {
  CompileWatch watch;
  watch.begins = [path] { fmt::print(stderr, "\r\033[Kcompiling {}", path); };
  watch.packing = [last = -1](uint64_t done, uint64_t total) mutable {
    const int percent = total ? static_cast<int>(done * 100 / total) : 100;
    if (percent == last)
      return;
    last = percent;
    fmt::print(stderr, "\r\033[Kpacking weights {:3} % of {:.2f} GB", percent,
               static_cast<double>(total) / 1e9);
  };
  watch.ends = [] { fmt::print(stderr, "\r\033[K"); };
  return watch;
}

} // namespace

void addCacheFlags(CLI::App &app, CompileFlags &flags) {
  const auto given = [&flags](const std::string &) { flags.given = true; };
  app.add_option("--cache-dir", flags.cacheDirectory)->each(given);
  app.add_option("--cache-limit", flags.cacheLimit)->each(given);
}

void addCompileFlags(CLI::App &app, CompileFlags &flags) {
  const auto given = [&flags](const std::string &) { flags.given = true; };
  app.add_option("--target", flags.source.target)->each(given);
  app.add_option("--quant", flags.source.quant)->each(given);
  app.add_option("--activations", flags.source.activations)->each(given);
  app.add_option("--kv", flags.source.kv)->each(given);
  app.add_option("--weights", flags.source.weights)->each(given);
  app.add_option("--compiler", flags.compiler)->each(given);
  app.add_flag("--no-cache", flags.noCache);
  addCacheFlags(app, flags);
}

void checkCompileFlags(const CompileFlags &flags, const std::string &path) {
  if ((flags.given || flags.noCache) && !isModelSource(path))
    fail(ErrorCode::Usage,
         "'{}' is compiled already: --target, --quant, --activations, --kv, --weights and the "
         "cache's "
         "flags are for a checkpoint directory, model.json or .gguf. Leave them out.",
         path);
  if (flags.noCache && !flags.cacheDirectory.empty())
    fail(ErrorCode::Usage, "--no-cache and --cache-dir exclude each other. Leave one out.");
}

ModelCache::Options cacheOptions(const CompileFlags &flags) {
  constexpr double mostGigabytes = 1e6;
  if (!(flags.cacheLimit >= 0 && flags.cacheLimit <= mostGigabytes))
    fail(ErrorCode::Usage, "--cache-limit is in GB, from 0 to {}, not {}.", mostGigabytes,
         flags.cacheLimit);
  return {flags.cacheDirectory.empty() ? defaultCacheDirectory() : flags.cacheDirectory,
          static_cast<uint64_t>(flags.cacheLimit * 1e9)};
}

JitOptions jitOptions(const CompileFlags &flags, const std::string &path, const LoadOptions &load,
                      bool verbose) {
  JitOptions options;
  options.source = flags.source;
  options.source.input = path;
  options.compiler = flags.compiler;
  options.useCache = !flags.noCache;
  options.cache = cacheOptions(flags);
  options.load = load;
  options.warn = [](const std::string &text) { notice("warning: " + text); };
  if (errorIsTerminal())
    options.watch = terminalWatch(path);
  if (verbose)
    options.watch.report = [](const std::string &line) { notice(line); };
  return options;
}

} // namespace inf
