// The registers, the frame and the call's scratch memory of a linear kernel's path on AMX tiles
// with q8 rows (AmxExactProduct.cpp, AmxProduct.cpp), and the groups of rows these go through.
#pragma once

#include <array>

#include "codegen/linear/LinearContext.h"

namespace inf {

class AmxContext {
public:
  using Address = LinearContext::Address;

  explicit AmxContext(LinearContext &linearContext) : linear(linearContext), a(linear.a) {
    for (Gpr &gpr : work)
      gpr = a.takeGeneral("whatever a product has it for");
  }

  LinearContext &linear;
  KernelAssembler &a;

  Gpr frame = a.takeGeneral("frame, aligned to 64");
  Gpr line = a.takeGeneral("64: bytes between rows of any tile");
  Gpr stride = a.takeGeneral("bytes of a packed panel");
  std::array<Gpr, 5> work; ///< each product gives them roles

  Xbyak::Address rowsFrom() { return slot(0); } ///< of the call's rows, those of the group
  Xbyak::Address rowsLimit() { return slot(1); }
  /// One of those a product on tiles has for itself.
  Xbyak::Address exactSlot(unsigned number) { return slot(2 + number); }
  Xbyak::Address generalSlot(unsigned number) { return slot(2 + exactSlots + number); }

  /// frame, line and stride.
  void enter() {
    const auto blockBytes = weightBytes(linear.spec.weights, panelRows * blockColumns);
    a.lea(frame, a.ptr[a.rsp + (lineBytes - 1)]);
    a.and_(frame, -static_cast<int>(lineBytes));
    a.mov(line, lineBytes);
    a.mov(stride, linear.arg(offsetof(LinearArgs, columns)));
    a.shr(stride, 5); // / blockColumns
    a.imul(stride, stride, static_cast<int>(blockBytes));
  }

  /// body() for each group of up to 128 rows, with context.weights and context.outOffset at their
  /// start.
  template <typename Body> void forRowGroups(Body body) {
    Xbyak::Label top;
    a.mov(rowsFrom(), 0);
    a.L(top);
    a.mov(linear.row, rowsFrom());
    a.lea(linear.temp, a.ptr[linear.row + amxtiles::groupRows]);
    a.mov(linear.k, linear.arg(offsetof(LinearArgs, rows)));
    a.cmp(linear.k, linear.temp);
    a.cmovg(linear.k, linear.temp);
    a.mov(rowsLimit(), linear.k);
    a.mov(linear.weights, linear.arg(offsetof(LinearArgs, weights)));
    a.xor_(linear.outOffset, linear.outOffset);
    body();
    a.mov(linear.temp, rowsLimit());
    a.mov(rowsFrom(), linear.temp);
    a.cmp(linear.temp, linear.arg(offsetof(LinearArgs, rows)));
    a.jl(top, Xbyak::CodeGenerator::T_NEAR);
  }

  static constexpr unsigned mostPanels = 2;
  static constexpr unsigned lineBytes = 64, tileBytes = amxtiles::tileRows * lineBytes;
  /// Of the frame, for a product.
  static constexpr int ownBytes = 14 * 1024;

private:
  static constexpr unsigned exactSlots = 6, generalSlots = 6;
  Xbyak::Address slot(unsigned number) {
    return a.qword[frame + ownBytes + static_cast<int>(8 * number)];
  }
  static_assert(ownBytes + (2 + exactSlots + generalSlots) * 8 + lineBytes <= amxtiles::frameBytes);
};

} // namespace inf
