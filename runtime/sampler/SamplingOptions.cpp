#include "runtime/sampler/SamplingOptions.h"

#include <algorithm>

#include "runtime/base/Error.h"

namespace inf {
namespace {

/// Enough for any context; 4 bytes each.
constexpr int mostWindow = 1 << 24;

// The conditions below are written so that NaN fails them.

void checkPenalties(const SamplingOptions &o) {
  if (!(o.repetitionPenalty > 0 && o.repetitionPenalty <= 100))
    fail(ErrorCode::Usage, "--repetition-penalty is {}, expected above 0 up to 100; 1 is off",
         o.repetitionPenalty);
  if (o.repetitionWindow < 0 || o.repetitionWindow > mostWindow)
    fail(ErrorCode::Usage, "--repetition-window is {}, expected 0 (all tokens) to {}",
         o.repetitionWindow, mostWindow);
  if (!(o.presencePenalty >= -2 && o.presencePenalty <= 2))
    fail(ErrorCode::Usage, "--presence-penalty is {}, expected -2 to 2; 0 is off",
         o.presencePenalty);
  if (!(o.frequencyPenalty >= -2 && o.frequencyPenalty <= 2))
    fail(ErrorCode::Usage, "--frequency-penalty is {}, expected -2 to 2; 0 is off",
         o.frequencyPenalty);
}

void checkDry(const SamplingOptions &o) {
  if (!(o.dryMultiplier >= 0 && o.dryMultiplier <= 100))
    fail(ErrorCode::Usage, "--dry-multiplier is {}, expected 0 (off) to 100", o.dryMultiplier);
  if (!(o.dryBase >= 1 && o.dryBase <= 100))
    fail(ErrorCode::Usage, "--dry-base is {}, expected 1 to 100", o.dryBase);
  if (o.dryAllowedLength < 1)
    fail(ErrorCode::Usage, "--dry-allowed-length is {}, expected 1 or more", o.dryAllowedLength);
  if (o.dryWindow < 1 || o.dryWindow > mostWindow)
    fail(ErrorCode::Usage, "--dry-window is {}, expected 1 to {}", o.dryWindow, mostWindow);
}

void checkBias(const SamplingOptions &o) {
  std::vector<int32_t> ids;
  for (const LogitBias &one : o.logitBias) {
    if (!(one.bias >= -100 && one.bias <= 100))
      fail(ErrorCode::Usage, "--logit-bias of token {} is {}, expected -100 (never) to 100", one.id,
           one.bias);
    if (one.id < 0)
      fail(ErrorCode::Usage, "--logit-bias names token {}, expected 0 or more", one.id);
    ids.push_back(one.id);
  }
  std::sort(ids.begin(), ids.end());
  auto twice = std::adjacent_find(ids.begin(), ids.end());
  if (twice != ids.end())
    fail(ErrorCode::Usage, "--logit-bias names token {} twice, expected each at most once", *twice);
}

void checkFilters(const SamplingOptions &o) {
  if (!(o.topNSigma >= 0 && o.topNSigma <= 1000))
    fail(ErrorCode::Usage, "--top-n-sigma is {}, expected 0 (all tokens) to 1000", o.topNSigma);
  if (!(o.typicalP > 0 && o.typicalP <= 1))
    fail(ErrorCode::Usage, "--typical-p is {}, expected above 0 up to 1 (all tokens)", o.typicalP);
  if (!(o.xtcProbability >= 0 && o.xtcProbability <= 1))
    fail(ErrorCode::Usage, "--xtc-probability is {}, expected 0 (off) to 1", o.xtcProbability);
  if (!(o.xtcThreshold > 0 && o.xtcThreshold <= 1))
    fail(ErrorCode::Usage, "--xtc-threshold is {}, expected above 0 up to 1", o.xtcThreshold);
}

void checkMirostat(const SamplingOptions &o) {
  if (!(o.mirostatTau > 0 && o.mirostatTau <= 100))
    fail(ErrorCode::Usage, "--mirostat-tau is {}, expected above 0 up to 100", o.mirostatTau);
  if (!(o.mirostatEta > 0 && o.mirostatEta <= 1))
    fail(ErrorCode::Usage, "--mirostat-eta is {}, expected above 0 up to 1", o.mirostatEta);
  bool filters = o.topK > 0 || o.topP < 1 || o.minP > 0 || o.topNSigma > 0 || o.typicalP < 1 ||
                 o.xtcProbability > 0;
  if (o.mirostat && filters)
    fail(ErrorCode::Usage,
         "--mirostat chooses the candidates by itself, expected none of --top-k, --top-p, --min-p, "
         "--top-n-sigma, --typical-p and --xtc-probability beside it");
}

} // namespace

void SamplingOptions::validate() const {
  if (!(temperature >= 0 && temperature <= 100))
    fail(ErrorCode::Usage, "--temperature is {}, expected 0 (always the likeliest token) to 100",
         temperature);
  if (topK < 0)
    fail(ErrorCode::Usage, "--top-k is {}, expected 0 (all tokens) or more", topK);
  if (!(topP > 0 && topP <= 1))
    fail(ErrorCode::Usage, "--top-p is {}, expected above 0 up to 1 (all tokens)", topP);
  if (!(minP >= 0 && minP <= 1))
    fail(ErrorCode::Usage, "--min-p is {}, expected 0 (all tokens) to 1", minP);
  checkPenalties(*this);
  checkDry(*this);
  checkBias(*this);
  checkFilters(*this);
  checkMirostat(*this);
}

} // namespace inf
