#include "runtime/tools/SamplingFlags.h"

#include <charconv>

#include "runtime/base/Error.h"

namespace inf {

const std::string_view samplingHelp =
    R"(How infrun chooses tokens, in the order of the steps (defaults in brackets).
  --logit-bias ID=B  added to a token's logit, -100: never; may be repeated
  --min-tokens N     no end of the text before N tokens (0)
  --ignore-eos       the model's stop tokens never end the text
  --repetition-penalty R, --repetition-window N
                     divides logits of tokens in prompt and answer (1: off),
                     of the last N only (0: all)
  --presence-penalty P, --frequency-penalty F
                     of tokens in the answer: once, for each time (0)
  --dry-multiplier M, --dry-base B, --dry-allowed-length L, --dry-window N
                     M * B^(length - L) off what repeats runs (0, 1.75, 2, 4096)
  --dry-breaker TEXT ends runs; may be repeated, or none (line end, and : " *)
  --temperature T    0: the likeliest token; all below then plays no part (0)
  --top-n-sigma N    within N standard deviations of the best logit (0: off)
  --top-k K, --typical-p P, --top-p P, --min-p P      (0, 1, 1, 0: off)
                     the K likeliest; the most typical, the likeliest that reach
                     share P; all with at least P times the best's share
  --xtc-probability P, --xtc-threshold T
                     leaves out the top choices but the last (0: off, 0.1)
  --mirostat, --mirostat-tau T, --mirostat-eta E
                     version 2, instead of these filters (5 bits, 0.1)
  --seed N           the same seed gives the same text (0)
)";

namespace {

template <typename Number> bool parses(std::string_view text, Number &number) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size();
}

LogitBias parseBias(const std::string &text) {
  LogitBias bias{};
  size_t middle = text.find('=');
  if (middle == std::string::npos || !parses(std::string_view(text).substr(0, middle), bias.id) ||
      !parses(std::string_view(text).substr(middle + 1), bias.bias))
    fail(ErrorCode::Usage, "--logit-bias is '{}', expected a token's id and a number like 42=-1.5",
         text);
  return bias;
}

/// The texts that end a run, of the authors of DRY; empty for "none".
std::vector<std::string> breakerTexts(const SamplingFlags &flags) {
  if (!flags.breakers)
    return {"\n", ":", "\"", "*"};
  bool none = flags.breakers->size() == 1 && flags.breakers->front() == "none";
  return none ? std::vector<std::string>{} : *flags.breakers;
}

bool containsAny(std::string_view bytes, const std::vector<std::string> &texts) {
  for (const std::string &text : texts)
    if (bytes.find(text) != std::string_view::npos)
      return true;
  return false;
}

} // namespace

void addSamplingFlags(CLI::App &app, SamplingFlags &flags) {
  SamplingOptions &o = flags.options;
  app.add_option("--temperature", o.temperature);
  app.add_option("--top-k", o.topK);
  app.add_option("--top-p", o.topP);
  app.add_option("--min-p", o.minP);
  app.add_option("--seed", o.seed);
  app.add_option("--logit-bias", flags.biases)->allow_extra_args(false);
  app.add_option("--min-tokens", o.minTokens);
  app.add_flag("--ignore-eos", o.ignoreStops);
  app.add_option("--repetition-penalty", o.repetitionPenalty);
  app.add_option("--repetition-window", o.repetitionWindow);
  app.add_option("--presence-penalty", o.presencePenalty);
  app.add_option("--frequency-penalty", o.frequencyPenalty);
  app.add_option("--dry-multiplier", o.dryMultiplier);
  app.add_option("--dry-base", o.dryBase);
  app.add_option("--dry-allowed-length", o.dryAllowedLength);
  app.add_option("--dry-window", o.dryWindow);
  app.add_option("--dry-breaker", flags.breakers)
      ->allow_extra_args(false)
      ->check([](const std::string &text) {
        return text.empty() ? "is empty, expected a text, or none for no breaker" : "";
      });
  app.add_option("--top-n-sigma", o.topNSigma);
  app.add_option("--typical-p", o.typicalP);
  app.add_option("--xtc-probability", o.xtcProbability);
  app.add_option("--xtc-threshold", o.xtcThreshold);
  app.add_flag("--mirostat", o.mirostat);
  app.add_option("--mirostat-tau", o.mirostatTau);
  app.add_option("--mirostat-eta", o.mirostatEta);
}

void checkSamplingFlags(SamplingFlags &flags) {
  flags.options.logitBias.clear();
  for (const std::string &text : flags.biases)
    flags.options.logitBias.push_back(parseBias(text));
  flags.options.validate();
}

SamplingOptions samplingOptions(const SamplingFlags &flags, const Tokenizer *tokenizer) {
  SamplingOptions options = flags.options;
  if (options.dryMultiplier == 0)
    return options;
  if (!tokenizer && flags.breakers && !breakerTexts(flags).empty())
    fail(ErrorCode::Usage, "--dry-breaker needs the texts of tokens, but this model has no "
                           "tokenizer; --dry-breaker none goes without");
  if (!tokenizer)
    return options;
  std::vector<std::string> texts = breakerTexts(flags);
  for (int32_t id = 0; id < tokenizer->vocabularySize(); ++id)
    if (tokenizer->hasToken(id) && containsAny(tokenizer->tokenBytes(id), texts))
      options.dryBreakers.push_back(id);
  return options;
}

} // namespace inf
