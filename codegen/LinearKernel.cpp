// Few-row matmul with its epilogue (codegen/KernelArgs.h, LinearArgs).
//
//            columns ->                          one panel: 16 outputs, one Lanes16 a column
//          +--------------------------+
//   panel  | w[0] w[1] w[2] ...       |  16     acc[r] += w[k] * broadcast(x[r][k])
//          +--------------------------+
//   x  row 0: x[0] x[1] ...                     weights are decoded once a column and used by
//      row 1: ...                               every row of the tile
//
//   for each panel (or pair):  for each tile of rows (R, R, ..., then R/2, ..., 1):
//     z = reduce(panel, tile);  z = z * scale;  z = z + addend;  z = z + bias
//     with swiglu: z of the gate panel is stashed in the frame, then the up panel is reduced
//     y = activation(z) + residual
//   Weights stream once when rows <= R; a panel is read again from the cache for further tiles.
//
//   One or two rows leave the multipliers idle: an output's sum is a chain, and each link waits for
//   the one before. So for so few rows, panels are reduced four (AVX2: two) at a time, side by
//   side; what is left of the panels goes the way above. An output's own order of sums is the same.
//
// Vector registers, as Lanes16 (AVX-512: 32 of one register, AVX2: 8 of two), R the row tile, P the
// panels side by side:
//   dense reduce:  2 R P accumulators (even, odd k) + 1 weights (+ half a one to broadcast on AVX2)
//   mxfp4 reduce:  R P chains + R P totals + 1 values + 1 scales or half a one for signs + the
//   table epilogue:      R P results + gate + sigmoid 3 to 4 AVX-512: R = 8, P = 1 and R = 2, P = 4
//   take 19;  AVX2: R = 2, P = 1 and R = 1, P = 2 take 6.5 of 8, R = 4 would take over 8.
// General registers: 7 by role + one pointer a row: 15 with R = 8, which is all of them. The
// strides between panels lie where the pointers of rows 6 and 7 would, which few rows don't have.
#include <algorithm>
#include <cstddef>
#include <functional>

#include "codegen/ExpEmitter.h"
#include "codegen/Generators.h"
#include "codegen/KernelArgs.h"
#include "codegen/Lanes.h"

namespace inf {
namespace {

constexpr unsigned panelBytes = 16 * sizeof(float); // of outputs, biases, ... of one panel
constexpr unsigned blockColumns = mxfp4Block;       // sharing a scale
constexpr unsigned mxfp4CodeBytes = 256;            // of a block, before its 16 scales
constexpr unsigned mxfp4BlockBytes = 272;

/// Up to `rows` rows, `panels` panels are reduced side by side.
struct SideBySide {
  unsigned rows, panels;
};
SideBySide sideBySide(KernelIsa isa) {
  return isa == KernelIsa::Avx512 ? SideBySide{2, 4} : SideBySide{1, 2};
}

bool isPair(const KernelSpec &spec) { return spec.activation != Activation::None; }

/// Where gate results wait for up results: one Lanes16 a row.
uint32_t stashBytes(const KernelSpec &spec) { return isPair(spec) ? spec.rows * panelBytes : 0; }

class LinearGenerator {
public:
  explicit LinearGenerator(const KernelSpec &kernelSpec)
      // 7 roles + row pointers and strides; 9 registers are free to use.
      : spec(kernelSpec), few(sideBySide(spec.isa)),
        a(spec.isa, pointerCount() - 2, stashBytes(spec)), lanes(LanesEmitter::create(a)) {}

  KernelCode generate();

private:
  using Tile = std::vector<Lanes16>; ///< one Lanes16 a row
  using Tiles = std::vector<Tile>;   ///< one Tile a panel side by side
  using Address = LanesEmitter::Address;

  /// Row pointers, two of which may be strides: at least the few rows and the strides.
  unsigned pointerCount() const { return std::max(spec.rows, few.rows + 2); }

  void groupLoop();
  void panelLoop();
  void setStrides();
  void rowTiles(unsigned widest, const std::function<void(unsigned)> &tileBody);
  void rowTile(unsigned rows);
  void groupTile(unsigned rows);
  Tiles reduce(unsigned rows, unsigned panels);
  Tiles reduceDense(unsigned rows, unsigned panels);
  void denseColumn(const Tiles &chains, unsigned column);
  Tiles reduceMxfp4(unsigned rows, unsigned panels);
  void reduceBlock(const Tiles &totals, const Lanes16 &table);
  Tiles takeTiles(std::string_view role, unsigned rows, unsigned panels);
  Address panelAt(unsigned panel);
  void pointAtRows(unsigned rows);
  void finishLinear(const Tile &z, unsigned packedPanel);
  void activate(const Lanes16 &up, const Lanes16 &gate);
  void swiglu(const Lanes16 &up, const Lanes16 &gate);
  void swigluClamped(const Lanes16 &up, const Lanes16 &gate);
  void addResidualAndStore(const Lanes16 &v, unsigned row, unsigned output);

  Xbyak::Address arg(size_t offset) { return a.qword[args + offset]; }
  /// Of a packed panel counted from the one at outOffset.
  Address perOutput(const Gpr &base, unsigned packedPanel) {
    return base + outOffset * (isPair(spec) ? 2 : 1) + packedPanel * panelBytes;
  }
  void loadRowPointer(size_t pointersOffset, unsigned row);

  const KernelSpec spec;
  const SideBySide few;
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
  /// Bytes of one packed panel, and of three; the last of x.
  const Gpr &stride() { return x[x.size() - 2]; }
  const Gpr &stride3() { return x[x.size() - 1]; }
};

KernelCode LinearGenerator::generate() {
  for (unsigned r = 0; r < pointerCount(); ++r)
    x.push_back(a.takeGeneral("row of x or stride"));
  a.mov(weights, arg(offsetof(LinearArgs, weights)));
  a.xor_(outOffset, outOffset);
  groupLoop();
  panelLoop();
  return a.finish(kernelSymbol(spec));
}

/// While there are few rows and enough panels: groups of panels.
void LinearGenerator::groupLoop() {
  const unsigned units = few.panels / (isPair(spec) ? 2 : 1);
  Xbyak::Label top, done;
  a.mov(temp, arg(offsetof(LinearArgs, rows)));
  a.cmp(temp, few.rows);
  a.jg(done, Xbyak::CodeGenerator::T_NEAR);
  a.L(top);
  a.mov(temp, outOffset);
  a.shr(temp, 6); // / panelBytes
  a.add(temp, units);
  a.cmp(temp, arg(offsetof(LinearArgs, panels)));
  a.jg(done, Xbyak::CodeGenerator::T_NEAR);
  setStrides();
  rowTiles(few.rows, [&](unsigned rows) { groupTile(rows); });
  a.lea(weights, a.ptr[panelAt(few.panels - 1)]); // every tile read to the end of its panels
  a.add(outOffset, units * panelBytes);
  a.jmp(top, Xbyak::CodeGenerator::T_NEAR);
  a.L(done);
}

void LinearGenerator::panelLoop() {
  Xbyak::Label top, done;
  a.L(top);
  a.mov(temp, outOffset);
  a.shr(temp, 6); // / panelBytes
  a.cmp(temp, arg(offsetof(LinearArgs, panels)));
  a.jge(done, Xbyak::CodeGenerator::T_NEAR);
  rowTiles(spec.rows, [&](unsigned rows) { rowTile(rows); });
  a.mov(weights, cursor); // every tile read to the end of the panel
  a.add(outOffset, panelBytes);
  a.jmp(top, Xbyak::CodeGenerator::T_NEAR);
  a.L(done);
}

void LinearGenerator::setStrides() {
  a.mov(stride(), arg(offsetof(LinearArgs, columns)));
  if (spec.weights == WeightFormat::MXFP4) {
    a.shr(stride(), 5); // / blockColumns
    a.imul(stride(), stride(), mxfp4BlockBytes);
  } else {
    a.imul(stride(), stride(), static_cast<int>(weightBytes(spec.weights, 16)));
  }
  a.lea(stride3(), a.ptr[stride() + stride() * 2]);
}

/// Where the cursor's column is in panel 0..3 of a group.
LinearGenerator::Address LinearGenerator::panelAt(unsigned panel) {
  switch (panel) {
  case 0:
    return Address(cursor);
  case 3:
    return cursor + stride3();
  default:
    return cursor + stride() * static_cast<int>(panel);
  }
}

/// The widest tile as often as it fits, then each smaller power of two at most once.
void LinearGenerator::rowTiles(unsigned widest, const std::function<void(unsigned)> &tileBody) {
  a.xor_(row, row);
  for (unsigned tile = widest; tile > 0; tile /= 2) {
    Xbyak::Label again, done;
    a.L(again);
    a.mov(temp, arg(offsetof(LinearArgs, rows)));
    a.sub(temp, row);
    a.cmp(temp, tile);
    a.jl(done, Xbyak::CodeGenerator::T_NEAR);
    tileBody(tile);
    a.add(row, tile);
    if (tile == widest)
      a.jmp(again, Xbyak::CodeGenerator::T_NEAR);
    a.L(done);
  }
}

void LinearGenerator::rowTile(unsigned rows) {
  a.mov(cursor, weights);
  if (isPair(spec)) {
    const Tiles gate = reduce(rows, 1);
    finishLinear(gate[0], 0);
    for (unsigned r = 0; r < rows; ++r)
      lanes->store(a.rsp + r * panelBytes, gate[0][r]);
  }
  const Tiles z = reduce(rows, 1);
  finishLinear(z[0], isPair(spec) ? 1 : 0);
  for (unsigned r = 0; r < rows; ++r) {
    if (isPair(spec)) {
      const Lanes16 gate = lanes->take("gate");
      lanes->load(gate, a.rsp + r * panelBytes);
      activate(z[0][r], gate);
    }
    addResidualAndStore(z[0][r], r, 0);
  }
}

/// As rowTile, for a group of panels; gate and up are both in registers.
void LinearGenerator::groupTile(unsigned rows) {
  a.mov(cursor, weights);
  const Tiles z = reduce(rows, few.panels);
  for (unsigned panel = 0; panel < few.panels; ++panel)
    finishLinear(z[panel], panel);
  const unsigned panelsOfUnit = isPair(spec) ? 2 : 1;
  for (unsigned unit = 0; unit < few.panels / panelsOfUnit; ++unit)
    for (unsigned r = 0; r < rows; ++r) {
      const Lanes16 &last = z[unit * panelsOfUnit + panelsOfUnit - 1][r];
      if (isPair(spec))
        activate(last, z[unit * panelsOfUnit][r]);
      addResidualAndStore(last, r, unit);
    }
}

LinearGenerator::Tiles LinearGenerator::reduce(unsigned rows, unsigned panels) {
  return spec.weights == WeightFormat::MXFP4 ? reduceMxfp4(rows, panels)
                                             : reduceDense(rows, panels);
}

LinearGenerator::Tiles LinearGenerator::takeTiles(std::string_view role, unsigned rows,
                                                  unsigned panels) {
  Tiles tiles;
  for (unsigned panel = 0; panel < panels; ++panel) {
    tiles.push_back(lanes->takeMany(role, rows));
    for (const Lanes16 &sum : tiles.back())
      lanes->setZero(sum);
  }
  return tiles;
}

/// k holds the columns of whole steps: lets x[r] point behind them and makes k negative.
void LinearGenerator::pointAtRows(unsigned rows) {
  a.mov(temp, arg(offsetof(LinearArgs, x)));
  for (unsigned r = 0; r < rows; ++r) {
    a.mov(x[r], a.ptr[temp + row * 8 + r * 8]);
    a.lea(x[r], a.ptr[x[r] + k * 4]);
  }
  a.neg(k);
}

/// even = w[0] x[0] + w[2] x[2] + ...;  odd = w[1] x[1] + ...;  even + odd
LinearGenerator::Tiles LinearGenerator::reduceDense(unsigned rows, unsigned panels) {
  Tiles even = takeTiles("even sum", rows, panels);
  const Tiles odd = takeTiles("odd sum", rows, panels);
  const unsigned columnBytes = static_cast<unsigned>(weightBytes(spec.weights, 16));
  a.mov(k, arg(offsetof(LinearArgs, columns)));
  a.and_(k, -2);
  pointAtRows(rows); // its last instruction, neg, sets the flags of k

  Xbyak::Label noPairs, noTail;
  a.jz(noPairs, Xbyak::CodeGenerator::T_NEAR);
  a.loopUpToZero(k, 2, [&] {
    denseColumn(even, 0);
    denseColumn(odd, 1);
    a.add(cursor, 2 * columnBytes);
  });
  a.L(noPairs);
  a.test(a.byte[args + offsetof(LinearArgs, columns)], 1);
  a.jz(noTail, Xbyak::CodeGenerator::T_NEAR);
  denseColumn(even, 0);
  a.add(cursor, columnBytes);
  a.L(noTail);

  for (unsigned panel = 0; panel < panels; ++panel)
    for (unsigned r = 0; r < rows; ++r)
      lanes->add(even[panel][r], even[panel][r], odd[panel][r]);
  return even;
}

/// chains[panel][r] += w[panel][k + column] * x[r][k + column], weights at the cursor.
void LinearGenerator::denseColumn(const Tiles &chains, unsigned column) {
  const Lanes16 w = lanes->take("weights");
  const unsigned columnBytes = static_cast<unsigned>(weightBytes(spec.weights, 16));
  for (unsigned panel = 0; panel < chains.size(); ++panel) {
    lanes->loadElements(w, spec.weights, panelAt(panel) + column * columnBytes);
    for (unsigned r = 0; r < chains[panel].size(); ++r)
      lanes->fmaBroadcast(chains[panel][r], w, x[r] + k * 4 + column * 4);
  }
}

LinearGenerator::Tiles LinearGenerator::reduceMxfp4(unsigned rows, unsigned panels) {
  Tiles totals = takeTiles("total", rows, panels);
  const Lanes16 table = lanes->takeCodeTable();
  a.mov(k, arg(offsetof(LinearArgs, columns)));
  pointAtRows(rows);
  a.loopUpToZero(k, blockColumns, [&] { reduceBlock(totals, table); });
  return totals;
}

/// chain = sum over the 32 columns of code value * x, from 0;  total = chain * scale + total.
/// The chains of successive blocks are independent, so the core overlaps them.
void LinearGenerator::reduceBlock(const Tiles &totals, const Lanes16 &table) {
  const unsigned panels = static_cast<unsigned>(totals.size());
  const unsigned rows = static_cast<unsigned>(totals[0].size());
  const Tiles chains = takeTiles("block chain", rows, panels);
  const Lanes16 values = lanes->take("code values or scales");
  for (unsigned column = 0; column < blockColumns; ++column) {
    const unsigned nibble = column / 16, line = column % 16 / 4, byte = column % 4;
    for (unsigned panel = 0; panel < panels; ++panel) {
      lanes->codeValues(values, table, panelAt(panel) + line * 64, byte * 8 + nibble * 4);
      for (unsigned r = 0; r < rows; ++r)
        lanes->fmaBroadcast(chains[panel][r], values, x[r] + k * 4 + column * 4);
    }
  }
  for (unsigned panel = 0; panel < panels; ++panel) {
    lanes->loadScales(values, panelAt(panel) + mxfp4CodeBytes);
    for (unsigned r = 0; r < rows; ++r)
      lanes->fma(totals[panel][r], chains[panel][r], values);
  }
  a.add(cursor, mxfp4BlockBytes);
}

/// z = z * scale[n];  z = z + addend[r][n];  z = z + bias[n], each rounded.
void LinearGenerator::finishLinear(const Tile &z, unsigned packedPanel) {
  const Lanes16 perOutputValue = lanes->take("scale or bias");
  if (spec.scale) {
    a.mov(temp, arg(offsetof(LinearArgs, scale)));
    lanes->load(perOutputValue, perOutput(temp, packedPanel));
    for (const Lanes16 &value : z)
      lanes->multiply(value, value, perOutputValue);
  }
  if (spec.addend)
    for (unsigned r = 0; r < z.size(); ++r) {
      loadRowPointer(offsetof(LinearArgs, addend), r);
      lanes->add(z[r], z[r], perOutput(temp, packedPanel));
    }
  if (spec.bias) {
    a.mov(temp, arg(offsetof(LinearArgs, bias)));
    lanes->load(perOutputValue, perOutput(temp, packedPanel));
    for (const Lanes16 &value : z)
      lanes->add(value, value, perOutputValue);
  }
}

void LinearGenerator::loadRowPointer(size_t pointersOffset, unsigned r) {
  a.mov(temp, arg(pointersOffset));
  a.mov(temp, a.ptr[temp + row * 8 + r * 8]);
}

/// up = activation(gate, up); destroys gate.
void LinearGenerator::activate(const Lanes16 &up, const Lanes16 &gate) {
  if (spec.activation == Activation::Swiglu)
    swiglu(up, gate);
  else
    swigluClamped(up, gate);
}

/// up = (gate * sigmoid(gate)) * up
void LinearGenerator::swiglu(const Lanes16 &up, const Lanes16 &gate) {
  const Lanes16 sigmoid = lanes->take("sigmoid");
  lanes->copy(sigmoid, gate);
  emitSigmoid(*lanes, sigmoid);
  lanes->multiply(gate, gate, sigmoid);
  lanes->multiply(up, gate, up);
}

/// gate <= limit, -limit <= up <= limit;  up = ((up + 1) * gate) * sigmoid(alpha * gate)
void LinearGenerator::swigluClamped(const Lanes16 &up, const Lanes16 &gate) {
  {
    const Lanes16 limit = lanes->take("limit");
    lanes->broadcast(limit, args + offsetof(LinearArgs, swigluLimit));
    lanes->min(gate, limit, gate);
    lanes->min(up, limit, up);
    lanes->negate(limit);
    lanes->max(up, limit, up);
  }
  const Lanes16 sigmoid = lanes->take("sigmoid");
  lanes->copy(sigmoid, gate);
  lanes->multiplyBroadcast(sigmoid, args + offsetof(LinearArgs, swigluAlpha));
  emitSigmoid(*lanes, sigmoid);
  lanes->addConstant(up, 1.0f);
  lanes->multiply(up, up, gate);
  lanes->multiply(up, up, sigmoid);
}

/// `output` counts panels of outputs from the one at outOffset.
void LinearGenerator::addResidualAndStore(const Lanes16 &v, unsigned r, unsigned output) {
  const unsigned ahead = output * panelBytes;
  if (spec.residual) {
    loadRowPointer(offsetof(LinearArgs, residual), r);
    lanes->add(v, v, temp + outOffset + ahead);
  }
  loadRowPointer(offsetof(LinearArgs, y), r);
  lanes->store(temp + outOffset + ahead, v);
}

} // namespace

KernelCode generateLinear(const KernelSpec &spec) { return LinearGenerator(spec).generate(); }

} // namespace inf
