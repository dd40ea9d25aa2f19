// What linear kernels on AMX tiles share, whatever their tiles hold: the loop over panels, and from
// sums of a row to outputs.
#pragma once

#include "codegen/TileConfiguration.h"
#include "codegen/linear/Epilogue.h"

namespace inf {

/// body() for `side` panels side by side as long as there are so many; `stride`: bytes of one.
template <typename Body>
void forPanels(LinearContext &context, const Gpr &stride, unsigned side, Body body) {
  KernelAssembler &a = context.a;
  const unsigned units = isPair(context.spec) ? side / 2 : side;
  Xbyak::Label top, done;
  a.L(top);
  a.mov(context.temp, context.outOffset);
  a.shr(context.temp, 6); // / panelBytes
  a.add(context.temp, units);
  a.cmp(context.temp, context.arg(offsetof(LinearArgs, panels)));
  a.jg(done);
  body();
  a.lea(context.weights, a.ptr[context.weights + stride * static_cast<int>(side)]);
  a.add(context.outOffset, units * LinearContext::panelBytes);
  a.jmp(top);
  a.L(done);
}

/// y of the row context.row, from its sums in panels side by side.
inline void finishAmxRow(Epilogue &epilogue, bool pair, const Tiles &z) {
  for (unsigned panel = 0; panel < z.size(); ++panel)
    epilogue.finishLinear(z[panel], panel);
  if (pair) {
    epilogue.activate(z[1][0], z[0][0]);
    return epilogue.addResidualAndStore(z[1][0], 0, 0);
  }
  for (unsigned panel = 0; panel < z.size(); ++panel)
    epilogue.addResidualAndStore(z[panel][0], 0, panel);
}

} // namespace inf
