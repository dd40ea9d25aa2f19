// What the parts of a linear kernel's generator share: the assembler and the registers that live
// through the whole kernel.
//
// General registers: 7 by role, and row pointers: 15 with 8 rows of floats, or 6 rows of q8 or
// bf16, or with AMX tiles, which is all of them. The last two of `x` are lent out where a tile has
// no such rows: float kernels keep strides there while they reduce few rows; q8 and bf16 kernels
// have two more for good.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <vector>

#include "codegen/KernelArgs.h"
#include "codegen/Lanes.h"
#include "codegen/linear/Tiling.h"
#include "runtime/abi/ActivationRows.h"

namespace inf {

/// One Lanes16 a row.
using Tile = std::vector<Lanes16>;
/// One Tile a panel of those side by side.
using Tiles = std::vector<Tile>;

/// Bytes of a panel's block before its scales (runtime/format/Pack.h).
constexpr unsigned blockCodeBytes(WeightFormat format) {
  return format == WeightFormat::INT8 ? 512 : 256;
}

class LinearContext {
public:
  using Address = LanesEmitter::Address;
  static constexpr unsigned panelBytes = 16 * sizeof(float); ///< of outputs, biases, ... of a panel

  explicit LinearContext(const KernelSpec &kernelSpec)
      : spec(kernelSpec), tiling(tilingOf(spec)), a(spec.isa, pointerCount() - 2, frameBytes()),
        lanes(LanesEmitter::create(a)) {
    for (unsigned r = 0; r < pointerCount(); ++r)
      x.push_back(a.takeGeneral("row of x, stride or block offset"));
  }

  Xbyak::Address arg(size_t offset) { return a.qword[args + offset]; }

  /// Bytes of one packed panel.
  const Gpr &stride() const { return x[x.size() - 2]; }
  /// Float kernels, groups of four panels: bytes of three.
  const Gpr &stride3() const { return x[x.size() - 1]; }
  /// Q8 kernels: where a row's block is, counted from x[r].
  const Gpr &blockOffset() const { return x[x.size() - 1]; }
  /// Bf16 kernels, sums by groups: k where the group ends.
  const Gpr &groupEnd() const { return x[x.size() - 1]; }

  /// Where the cursor's column is in panel 0..3 of a group.
  Address panelAt(unsigned panel) const {
    switch (panel) {
    case 0:
      return Address(cursor);
    case 3:
      return cursor + stride3();
    default:
      return cursor + stride() * static_cast<int>(panel);
    }
  }

  /// Whether ExactScales has a use here: it saves multiplications where vpdpbusd keeps the
  /// multipliers busy.
  bool mayScaleExactly() const {
    return spec.inputs == InputFormat::Q8 && spec.weights == WeightFormat::MXFP4 &&
           (spec.isa == KernelIsa::Avx512Vnni || spec.isa == KernelIsa::Avx512Vbmi);
  }
  /// What ExactScales found, in the frame: behind the stash.
  int scaleRangeAt() const { return static_cast<int>(stashBytes()); }

  /// k holds columns: lets x[r] point so many elements behind the rows' starts and makes k
  /// negative; its last instruction, neg, sets the flags of k.
  void pointAtRows(unsigned rows, unsigned elementBytes) {
    a.mov(temp, arg(offsetof(LinearArgs, x)));
    for (unsigned r = 0; r < rows; ++r) {
      a.mov(x[r], a.ptr[temp + row * 8 + r * 8]);
      a.lea(x[r], a.ptr[x[r] + k * static_cast<int>(elementBytes)]);
    }
    a.neg(k);
  }

  Tiles takeTiles(std::string_view role, unsigned rows, unsigned panels) {
    Tiles tiles;
    for (unsigned panel = 0; panel < panels; ++panel) {
      tiles.push_back(lanes->takeMany(role, rows));
      for (const Lanes16 &sum : tiles.back())
        lanes->setZero(sum);
    }
    return tiles;
  }

  const KernelSpec spec;
  const Tiling tiling;
  KernelAssembler a;
  std::unique_ptr<LanesEmitter> lanes;

  Gpr args = a.takeArguments();
  Gpr weights = a.takeGeneral("panel weights");
  Gpr cursor = a.takeGeneral("weight cursor");
  Gpr outOffset = a.takeGeneral("output offset"); ///< bytes from the slice's start
  Gpr row = a.takeGeneral("first row of the tile");
  Gpr k = a.takeGeneral("k"); ///< negative, counts up to 0
  Gpr temp = a.takeGeneral("temporary");
  std::vector<Gpr> x; ///< end of the whole steps of k, one a row of the tile

private:
  /// Float: two of the pointers may be strides, at least the few rows and the strides.
  unsigned pointerCount() const {
    if (spec.isa == KernelIsa::Amx)
      return 8;
    return spec.inputs == InputFormat::F32 ? std::max(spec.rows, tiling.groups[0].rows + 2)
                                           : vectorRows(spec) + 2;
  }
  /// Where results of gate and up wait for the activation: two Lanes16 a row.
  uint32_t stashBytes() const { return isPair(spec) ? 2 * vectorRows(spec) * panelBytes : 0; }
  /// The stash and behind it the range of scales; or all that tiles need: never both at a time.
  uint32_t frameBytes() const {
    if (spec.isa != KernelIsa::Amx)
      return stashBytes() + (mayScaleExactly() ? 4 * sizeof(uint32_t) : 0);
    const bool bf16 = spec.inputs == InputFormat::BF16;
    return std::max(bf16 ? amxtiles::bf16FrameBytes : amxtiles::frameBytes, stashBytes());
  }
};

} // namespace inf
