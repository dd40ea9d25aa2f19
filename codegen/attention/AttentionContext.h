// What the parts of an attention kernel's generator share: the assembler, the shape, and the
// general registers that live through the whole kernel (nine of fifteen).
#pragma once

#include <cstddef>
#include <memory>

#include "codegen/KernelArgs.h"
#include "codegen/Lanes.h"
#include "codegen/attention/AttentionShape.h"

namespace inf {

class AttentionContext {
public:
  using Address = LanesEmitter::Address;
  static constexpr unsigned tileKeys = AttentionShape::tileKeys;
  static constexpr unsigned floatBytes = 4;
  static constexpr unsigned lineBytes = AttentionFrame::lineBytes;

  explicit AttentionContext(const KernelSpec &kernelSpec)
      : spec(kernelSpec), shape(spec), layout(shape, spec),
        elementBytes(static_cast<unsigned>(weightBytes(spec.kv, 1))),
        a(spec.isa, 6, localBytes(layout)), lanes(LanesEmitter::create(a)) {}

  bool bf16Dots() const { return spec.inputs == InputFormat::BF16; }
  bool onTiles() const { return spec.isa == KernelIsa::Amx; }
  /// Products read pairs of bf16.
  bool dotInstruction() const { return spec.isa == KernelIsa::Avx512Bf16 || onTiles(); }
  /// Tiles of keys with one maximum, and one place in the order of sums.
  unsigned groupTiles() const { return spec.order == Bf16Order::Groups ? 2 : 1; }
  bool bf16Cache() const { return spec.kv == WeightFormat::BF16; }
  /// Keys that a line of values holds, dimensions that a line of keys holds: a bf16 cache has
  /// pairs.
  unsigned together() const { return bf16Cache() ? 2 : 1; }
  /// Of q, and of p, as products read it.
  unsigned scalarBytes() const { return dotInstruction() ? 2 : floatBytes; }

  Xbyak::Address arg(size_t offset) { return a.qword[args + offset]; }
  unsigned valueRowBytes() const { return spec.headDim * elementBytes; } ///< of one key
  unsigned tileBytes() const { return tileKeys * valueRowBytes(); }      ///< of keys; of values too
  unsigned headBytes() const { return spec.headDim * floatBytes; }       ///< of a row of out
  unsigned queryHeadBytes() const { return spec.headDim * scalarBytes(); } ///< of q as read

  /// Room to align the frame by hand: rsp is only aligned to 16.
  static constexpr unsigned alignmentSlack = 63;
  static uint32_t localBytes(const AttentionFrame &frame) {
    return (frame.bytes + alignmentSlack + 15) / 16 * 16;
  }

  const KernelSpec spec;
  const AttentionShape shape;
  const AttentionFrame layout;
  const unsigned elementBytes;
  KernelAssembler a;
  std::unique_ptr<LanesEmitter> lanes;

  Gpr args = a.takeArguments();
  Gpr q = a.takeGeneral("q");
  Gpr out = a.takeGeneral("accumulators"); ///< [group][headDim]
  Gpr frame = a.takeGeneral("aligned frame");
  Gpr position = a.takeGeneral("first position of the tile");
  Gpr table = a.takeGeneral("block table entry");
  Gpr inBlock = a.takeGeneral("tile's offset in its block");
  Gpr keys = a.takeGeneral("tile's keys");
  Gpr values = a.takeGeneral("tile's values");
};

} // namespace inf
