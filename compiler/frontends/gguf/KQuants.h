// The super-blocks of 256 values that are not kept as they are: decoded to f32.
#pragma once

#include <cstdint>

namespace inf {

inline constexpr uint64_t superBlock = 256;

/// One super-block of type Q4_K, Q5_K or Q6_K (their numbers in TensorTypes.h) to 256 values:
///   Q4_K, Q5_K  d * scale * q - dmin * minimum, per 32 values; scales and minimums of 6 bits, d
///   and
///               dmin f16, q of 4 or 5 bits
///   Q6_K        d * scale * (q - 32), per 16 values; scales int8, d f16, q of 6 bits
/// Q4_K and Q5_K round once (products are exact in f32), Q6_K at most once.
void decodeSuperBlock(uint32_t type, const uint8_t *block, float *values);

} // namespace inf
