// Whether the products of scales in a call, w * a, are all exact: then sums of mxfp4 codes are
// scaled without computing them.
//
// w is 2^(b - 127), b the byte that is stored. With e for the exponent field of a, w * a is exact
// when a is 0, or
//   1 <= e <= 254  and  1 <= b + e - 127 <= 254
// and then, bit for bit,
//   fma(float(c), w * a, total) = fma(c * w, a, total)
// as both round the same exact number once. c * w needs no multiplication. A float
//   origin = 1.5 * 2^23 * w
// has a last bit that is worth w, and |c| <= 12 * 127 * 32 < 2^22 of them stay within its exponent:
// bits(origin) + c are those of origin + c * w, so a sum that starts at bits(origin) ends as that
// float, and subtracting origin leaves c * w. All of it is exact where b <= 231.
//
// What bounds kernels of many rows is vpdpbusd and multiplications, which share their units on
// Zen 4: 96 and 24 a block for 6 rows and 2 panels, now 96 and 12. Measured: 60 rows take 0.93 of
// the time, which would be 0.91 without looking at scales and loading origins.
#pragma once

#include "codegen/linear/LinearContext.h"

namespace inf {

/// Looks at scales while a kernel runs and remembers, in the frame, what it has found.
class ExactScales {
public:
  explicit ExactScales(LinearContext &linearContext) : context(linearContext) {}

  /// Once a call: the range of the rows' scales. Uses k, row, temp and the first row pointers.
  void lookAtRows();
  /// Once a group of panels from context.weights on: whether all is exact. Uses cursor, k and temp.
  void lookAtPanels(unsigned panels);
  /// In tiles of that group.
  void jumpUnlessExact(const Xbyak::Label &target);

private:
  void moveGreatest(const Gpr &to, const Lanes16 &integers);
  Xbyak::Address local(unsigned index) {
    return context.a.dword[context.a.rsp + context.scaleRangeAt() + static_cast<int>(4 * index)];
  }
  Xbyak::Address lowest() { return local(0); }  ///< e of the rows; 0: not exact
  Xbyak::Address highest() { return local(1); } ///< likewise
  Xbyak::Address exact() { return local(2); }   ///< 1 or 0

  LinearContext &context;
};

} // namespace inf
