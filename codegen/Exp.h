// exp and sigmoid as this compiler computes them: one polynomial, the same operations in the same
// order in every place that evaluates them (Xbyak kernels, LLVM glue), so the same bits.
//
//   x < minInput  -> 0;   x is clamped to <= maxInput
//   n = round_to_nearest_even(x * log2e);  r = fma(n, -ln2Hi, x);  r = fma(n, -ln2Lo, r)
//   p = c[0]; p = fma(p, r, c[1]); ... ; p = fma(p, r, c[6])   (c[5] = c[6] = 1)
//   result = bits(p) + (int(n) << 23)
// NaN stays NaN. Error on [minInput, maxInput]: at most 1 ulp; 0.88 measured over a million values
// of all exponents (tests/codegen/ExpTest.cpp).
//   sigmoid(x) = 1 / (1 + exp(-x)), with an IEEE division.
#pragma once

#include <array>

namespace inf::exppoly {

inline constexpr float minInput = -87.0f; // exp of it is still a normal number
inline constexpr float maxInput = 88.0f;
inline constexpr float log2e = 1.44269504088896341f;
inline constexpr float ln2Hi = 0.693359375f; // few bits: n * ln2Hi is exact
inline constexpr float ln2Lo = -2.12194440e-4f;
/// e^r = 1 + r + r^2 q(r) with q of degree 4, minimax in relative error on |r| <= 1.0005 ln2/2 (the
/// rounding of x * log2e lets r slightly beyond ln2/2): 3.1e-9, a twentieth of an ulp. Highest
/// power first.
inline constexpr std::array<float, 7> coefficients = {
    1.38145406e-3f, 8.36874545e-3f, 4.16683890e-2f, 1.66665211e-1f, 4.99999940e-1f, 1.0f, 1.0f};

} // namespace inf::exppoly
