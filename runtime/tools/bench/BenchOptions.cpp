#include "runtime/tools/bench/BenchOptions.h"

#include <algorithm>
#include <charconv>

#include "runtime/base/Error.h"
#include "runtime/cpu/ThreadPlan.h"

namespace inf {
namespace {

constexpr size_t mostEntries = 64; // more is a mistake: each costs seconds

std::optional<uint64_t> parseNumber(std::string_view text) {
  uint64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.empty())
    return std::nullopt;
  return value;
}

uint64_t decodeContext(uint64_t start, const BenchOptions &options, uint64_t most) {
  const bool several = *std::max_element(options.batches.begin(), options.batches.end()) > 1;
  const uint64_t runs = start == 0 ? 1 : options.repeat + several; // one counts experts
  const uint64_t warmUp = start == 0 ? 0 : warmUpTokens(options.generatedTokens);
  // Divided, not multiplied: the product may not fit.
  if (start > most || warmUp > most - start ||
      options.generatedTokens > (most - start - warmUp) / runs)
    fail(ErrorCode::TooLong,
         "{} runs of -n {} from --context {} do not fit into this model's context of {}. Choose "
         "fewer.",
         runs, options.generatedTokens, start, most);
  return start + warmUp + options.generatedTokens * runs;
}

} // namespace

std::vector<uint64_t> parseCounts(std::string_view flag, std::string_view text, uint64_t least,
                                  uint64_t most) {
  std::vector<uint64_t> counts;
  for (std::string_view rest = text;;) {
    const size_t comma = rest.find(',');
    const std::string_view entry = rest.substr(0, comma);
    const std::optional<uint64_t> count = parseNumber(entry);
    if (!count || *count < least || *count > most || counts.size() == mostEntries)
      fail(ErrorCode::Usage,
           "{} '{}' cannot be measured: expected 1 to {} numbers from {} to {}, separated by "
           "commas.",
           flag, text, mostEntries, least, most);
    counts.push_back(*count);
    if (comma == std::string_view::npos)
      return counts;
    rest.remove_prefix(comma + 1);
  }
}

void parseThreads(std::string_view text, BenchOptions &options) {
  options.sweep = text == "sweep";
  if (options.sweep)
    return;
  const std::optional<uint64_t> count = parseNumber(text);
  if (!count || *count < 1 || *count > maxThreads)
    fail(ErrorCode::Usage, "--threads '{}': expected a number from 1 to {}, or 'sweep'.", text,
         maxThreads);
  options.threads = static_cast<unsigned>(*count);
}

uint64_t neededContext(const BenchOptions &options, const BenchLimits &limits) {
  uint64_t needed = *std::max_element(options.promptTokens.begin(), options.promptTokens.end());
  if (needed > limits.context)
    fail(ErrorCode::TooLong, "-p {} does not fit into this model's context of {}. Choose less.",
         needed, limits.context);
  if (options.generatedTokens == 0)
    return needed;
  const uint64_t batch = *std::max_element(options.batches.begin(), options.batches.end());
  if (batch > limits.stepTokens)
    fail(ErrorCode::Usage,
         "--batch {} is more than the {} sequences that a step of this model can give logits for. "
         "Choose fewer, or compile with more output rows.",
         batch, limits.stepTokens);
  for (uint64_t start : options.contexts)
    needed = std::max(needed, decodeContext(start, options, limits.context));
  return needed;
}

} // namespace inf
