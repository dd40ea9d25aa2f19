#include "runtime/sampler/SamplingOptions.h"

#include "runtime/base/Error.h"

namespace inf {

// The conditions are written so that NaN fails them.
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
}

} // namespace inf
