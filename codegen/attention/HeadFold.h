// Folds sixteen keys of every head to one number a head, all heads together: lane i with i + 8,
// then 4, 2, 1, as LanesEmitter's folds do, but a step takes two registers and leaves one, so that
// sixteen heads cost 15 steps and not 64.
//
//            step 8            step 4                 step 2                    step 1
//   zmm  a b -> aaaaaaaabbbbbbbb -> aaaabbbbccccdddd -> aaee bbff ccgg ddhh -> aeim bfjn cgko dhlp
//
// A head's number ends in lane 4 * (head % 4) + head / 4. With AVX2 a head's sixteen keys are two
// ymm, step 8 adds those, and lanes 0..7 and 8..15 are folded one after the other.
#pragma once

#include <functional>

#include "codegen/Lanes.h"

namespace inf {

enum class HeadFoldKind { Max, Add };

inline unsigned laneOfHead(unsigned head) { return 4 * (head % 4) + head / 4; }

/// `leaf` emits the sixteen keys of a head; it is called once for each, in an order that keeps few
/// registers alive (at most four besides its own). Lanes of no head hold some head's number or 0.
Lanes16 emitHeadFold(KernelAssembler &a, LanesEmitter &lanes, HeadFoldKind kind, unsigned group,
                     const std::function<Lanes16(unsigned head)> &leaf);

} // namespace inf
