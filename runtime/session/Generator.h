// Prompt in, stream of tokens and text out.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/sampler/Sampler.h"
#include "runtime/session/Session.h"
#include "runtime/session/TextStream.h"

namespace inf {

struct GenerateOptions {
  SamplingOptions sampling;
  uint64_t maxTokens = 256;
  std::vector<std::string> stopStrings;
  SpecialOutput specials = SpecialOutput::Skip; ///< whether the text shows special tokens
};

/// Where the output goes; any may be empty. They are called on the caller's thread, between steps.
struct GenerateSinks {
  std::function<void(int32_t id)> token;           ///< every generated token but the stop token
  std::function<void(std::string_view text)> text; ///< well-formed UTF-8; needs a tokenizer
  std::function<bool()> cancelled;                 ///< asked before every step
};

enum class FinishReason { Stop, Length, StopString, Cancelled };
std::string_view finishReasonName(FinishReason reason); ///< "stop", "length", "stop_string", ...

struct GenerateResult {
  FinishReason reason = FinishReason::Length;
  uint64_t promptTokens = 0;    ///< that ran
  uint64_t generatedTokens = 0; ///< the stop token included
  uint64_t decodeSteps = 0;     ///< steps of one generated row; the first token needs none
  double prefillSeconds = 0;    ///< until the logits of the last prompt token
  double firstTokenSeconds = 0; ///< until the first token was chosen; 0 when none was
  double decodeSeconds = 0;     ///< steps and sampling; the sinks are not counted
  uint64_t decodeBytes = 0;     ///< bytesPerGeneratedToken, summed over the steps
  std::optional<uint64_t> lastLogitsHash; ///< nullopt when no logits were computed

  double prefillTokensPerSecond() const;
  double decodeTokensPerSecond() const;
  double decodeBytesPerSecond() const;
};

/// Runs one sequence of a session. Ends at a stop token of the model (manifest eos), at a stop
/// string, after maxTokens, or when the context is full.
class Generator {
public:
  /// Fails with Usage for bad options or stop strings without a tokenizer. `session` must outlive
  /// this object.
  Generator(Session &session, uint32_t sequence, const GenerateOptions &options);

  /// Continues the sequence with `prompt`. Fails as Session::prefill does.
  GenerateResult generate(std::span<const int32_t> prompt, const GenerateSinks &sinks);

private:
  bool isStopToken(int32_t id) const;
  std::span<const float> prefill(std::span<const int32_t> prompt, const GenerateSinks &sinks,
                                 GenerateResult &result);
  std::span<const float> decode(int32_t token, GenerateResult &result);
  /// Shows one token; false when a stop string is complete.
  bool show(int32_t token, const GenerateSinks &sinks);

  Session &session;
  uint32_t sequence;
  GenerateOptions options;
  Sampler sampler;
  std::optional<TextStream> text;
};

} // namespace inf
