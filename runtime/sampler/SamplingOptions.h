// How the next token is chosen from the logits.
#pragma once

#include <cstdint>
#include <vector>

namespace inf {

/// Added to one token's logit; -100 bans the token.
struct LogitBias {
  int32_t id;
  float bias; ///< -100 to 100
};

/// In the order in which Sampler.h applies them. All steps but temperature are off by default.
struct SamplingOptions {
  float temperature = 0; ///< 0: always the likeliest token; else logits are divided by it; 0 to 100
  int topK = 0;          ///< keep the K likeliest tokens; 0: all
  float topP = 1;        ///< keep the likeliest tokens that together reach probability P; (0, 1]
  float minP = 0;        ///< keep tokens at least P times as likely as the likeliest; [0, 1]
  uint64_t seed = 0;     ///< the same seed, options and logits give the same tokens

  // Changes of logits: at temperature 0 too.
  std::vector<LogitBias> logitBias = {}; ///< each id at most once
  std::vector<int32_t> stopTokens = {};  ///< end the text; masked as the next two say
  uint64_t minTokens = 0;                ///< no stop token among this many generated tokens
  bool ignoreStops = false;              ///< never a stop token
  float repetitionPenalty = 1;           ///< of tokens in prompt and answer; (0, 100], 1: off
  int repetitionWindow = 0;              ///< only the last N tokens of both; 0: all
  float presencePenalty = 0;             ///< of tokens in the answer, once; -2 to 2
  float frequencyPenalty = 0;            ///< of tokens in the answer, for each time; -2 to 2
  float dryMultiplier = 0;               ///< of going on with a repeated run; [0, 100], 0: off
  float dryBase = 1.75f;                 ///< growth for each token of the run; [1, 100]
  int dryAllowedLength = 2;              ///< shorter runs are free; 1 or more
  int dryWindow = 4096;                  ///< runs among the last N tokens of prompt and answer
  std::vector<int32_t> dryBreakers = {}; ///< tokens that no run contains

  // Choice among candidates: play no part at temperature 0.
  float topNSigma = 0;       ///< keep logits within N standard deviations of the highest; 0: off
  float typicalP = 1;        ///< keep the most typical tokens that reach probability P; (0, 1]
  float xtcProbability = 0;  ///< how often the likeliest tokens are left out; [0, 1]
  float xtcThreshold = 0.1f; ///< all but the least likely of those with at least this share; (0, 1]
  bool mirostat = false;     ///< version 2, in place of every other choice among candidates
  float mirostatTau = 5;     ///< the surprise aimed at, in bits a token; (0, 100]
  float mirostatEta = 0.1f;  ///< how fast it corrects; (0, 1]

  /// Fails with Usage, naming the flag, its value and its range; for mirostat beside another choice
  /// among candidates; for an id that is negative or has two biases.
  void validate() const;
};

} // namespace inf
