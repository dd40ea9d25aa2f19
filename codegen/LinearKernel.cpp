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
// Vector registers, as Lanes16 (AVX-512: 32 of one register, AVX2: 8 of two), R the row tile:
//   dense reduce:  2 R accumulators (even, odd k) + 1 weights (+ half a one to broadcast on AVX2)
//   mxfp4 reduce:  R chains + R totals + 1 values + 1 scales or half a one for signs + the table
//   epilogue:      R results + gate + sigmoid 3 to 4
//   AVX-512: R = 8 takes 19;  AVX2: R = 2 takes 6.5 of 8, R = 4 would take over 8.
// General registers: 7 by role + one pointer a row: 15 with R = 8, which is all of them.
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

bool isPair(const KernelSpec &spec) { return spec.activation != Activation::None; }

/// Where gate results wait for up results: one Lanes16 a row.
uint32_t stashBytes(const KernelSpec &spec) { return isPair(spec) ? spec.rows * panelBytes : 0; }

class LinearGenerator {
public:
  explicit LinearGenerator(const KernelSpec &kernelSpec)
      // 7 roles + R row pointers, 9 registers are free to use.
      : spec(kernelSpec), a(spec.isa, spec.rows > 2 ? spec.rows - 2 : 0, stashBytes(spec)),
        lanes(LanesEmitter::create(a)) {}

  KernelCode generate();

private:
  using Tile = std::vector<Lanes16>; ///< one Lanes16 a row
  using Address = LanesEmitter::Address;

  void panelLoop();
  void rowTiles();
  void rowTile(unsigned rows);
  Tile reduce(unsigned rows);
  Tile reduceDense(unsigned rows);
  void denseColumn(const Tile &chain, unsigned column);
  Tile reduceMxfp4(unsigned rows);
  void reduceBlock(const Tile &total, const Lanes16 &table);
  void pointAtRows(unsigned rows);
  void finishLinear(const Tile &z, unsigned half);
  void activate(const Lanes16 &up, unsigned row);
  void swiglu(const Lanes16 &up, const Lanes16 &gate);
  void swigluClamped(const Lanes16 &up, const Lanes16 &gate);
  void addResidualAndStore(const Lanes16 &v, unsigned row);

  Xbyak::Address arg(size_t offset) { return a.qword[args + offset]; }
  Address perOutput(const Gpr &base, unsigned half) {
    return base + outOffset * (isPair(spec) ? 2 : 1) + half * panelBytes;
  }
  void loadRowPointer(size_t pointersOffset, unsigned row);

  const KernelSpec spec;
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
};

KernelCode LinearGenerator::generate() {
  for (unsigned r = 0; r < spec.rows; ++r)
    x.push_back(a.takeGeneral("row of x"));
  panelLoop();
  return a.finish(kernelSymbol(spec));
}

void LinearGenerator::panelLoop() {
  a.mov(weights, arg(offsetof(LinearArgs, weights)));
  a.xor_(outOffset, outOffset);
  Xbyak::Label top;
  a.L(top);
  rowTiles();
  a.mov(weights, cursor); // every tile read to the end of the panel
  a.add(outOffset, panelBytes);
  a.mov(temp, outOffset);
  a.shr(temp, 6); // / panelBytes
  a.cmp(temp, arg(offsetof(LinearArgs, panels)));
  a.jl(top);
}

/// The widest tile as often as it fits, then each smaller power of two at most once.
void LinearGenerator::rowTiles() {
  a.xor_(row, row);
  for (unsigned tile = spec.rows; tile > 0; tile /= 2) {
    Xbyak::Label again, done;
    a.L(again);
    a.mov(temp, arg(offsetof(LinearArgs, rows)));
    a.sub(temp, row);
    a.cmp(temp, tile);
    a.jl(done);
    rowTile(tile);
    a.add(row, tile);
    if (tile == spec.rows)
      a.jmp(again);
    a.L(done);
  }
}

void LinearGenerator::rowTile(unsigned rows) {
  a.mov(cursor, weights);
  if (isPair(spec)) {
    const Tile gate = reduce(rows);
    finishLinear(gate, 0);
    for (unsigned r = 0; r < rows; ++r)
      lanes->store(a.rsp + r * panelBytes, gate[r]);
  }
  const Tile z = reduce(rows);
  finishLinear(z, isPair(spec) ? 1 : 0);
  for (unsigned r = 0; r < rows; ++r) {
    activate(z[r], r);
    addResidualAndStore(z[r], r);
  }
}

LinearGenerator::Tile LinearGenerator::reduce(unsigned rows) {
  return spec.weights == WeightFormat::MXFP4 ? reduceMxfp4(rows) : reduceDense(rows);
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
LinearGenerator::Tile LinearGenerator::reduceDense(unsigned rows) {
  Tile even = lanes->takeMany("even sum", rows);
  const Tile odd = lanes->takeMany("odd sum", rows);
  for (unsigned r = 0; r < rows; ++r) {
    lanes->setZero(even[r]);
    lanes->setZero(odd[r]);
  }
  const unsigned columnBytes = static_cast<unsigned>(weightBytes(spec.weights, 16));
  a.mov(k, arg(offsetof(LinearArgs, columns)));
  a.and_(k, -2);
  pointAtRows(rows); // its last instruction, neg, sets the flags of k

  Xbyak::Label noPairs, noTail;
  a.jz(noPairs);
  a.loopUpToZero(k, 2, [&] {
    denseColumn(even, 0);
    denseColumn(odd, 1);
    a.add(cursor, 2 * columnBytes);
  });
  a.L(noPairs);
  a.test(a.byte[args + offsetof(LinearArgs, columns)], 1);
  a.jz(noTail);
  denseColumn(even, 0);
  a.add(cursor, columnBytes);
  a.L(noTail);

  for (unsigned r = 0; r < rows; ++r)
    lanes->add(even[r], even[r], odd[r]);
  return even;
}

/// chain[r] += w[k + column] * x[r][k + column], weights at the cursor.
void LinearGenerator::denseColumn(const Tile &chain, unsigned column) {
  const Lanes16 w = lanes->take("weights");
  const unsigned columnBytes = static_cast<unsigned>(weightBytes(spec.weights, 16));
  lanes->loadElements(w, spec.weights, cursor + column * columnBytes);
  for (unsigned r = 0; r < chain.size(); ++r)
    lanes->fmaBroadcast(chain[r], w, x[r] + k * 4 + column * 4);
}

LinearGenerator::Tile LinearGenerator::reduceMxfp4(unsigned rows) {
  Tile total = lanes->takeMany("total", rows);
  for (const Lanes16 &t : total)
    lanes->setZero(t);
  const Lanes16 table = lanes->takeCodeTable();
  a.mov(k, arg(offsetof(LinearArgs, columns)));
  pointAtRows(rows);
  a.loopUpToZero(k, blockColumns, [&] { reduceBlock(total, table); });
  return total;
}

/// chain = sum over the 32 columns of code value * x, from 0;  total = chain * scale + total.
/// The chains of successive blocks are independent, so the core overlaps them.
void LinearGenerator::reduceBlock(const Tile &total, const Lanes16 &table) {
  const Tile chain = lanes->takeMany("block chain", static_cast<unsigned>(total.size()));
  for (const Lanes16 &c : chain)
    lanes->setZero(c);
  const Lanes16 values = lanes->take("code values or scales");
  for (unsigned column = 0; column < blockColumns; ++column) {
    const unsigned nibble = column / 16, line = column % 16 / 4, byte = column % 4;
    lanes->codeValues(values, table, cursor + line * 64, byte * 8 + nibble * 4);
    for (unsigned r = 0; r < total.size(); ++r)
      lanes->fmaBroadcast(chain[r], values, x[r] + k * 4 + column * 4);
  }
  lanes->loadScales(values, cursor + mxfp4CodeBytes);
  for (unsigned r = 0; r < total.size(); ++r)
    lanes->fma(total[r], chain[r], values);
  a.add(cursor, mxfp4BlockBytes);
}

/// z = z * scale[n];  z = z + addend[r][n];  z = z + bias[n], each rounded.
void LinearGenerator::finishLinear(const Tile &z, unsigned half) {
  const Lanes16 perOutputValue = lanes->take("scale or bias");
  if (spec.scale) {
    a.mov(temp, arg(offsetof(LinearArgs, scale)));
    lanes->load(perOutputValue, perOutput(temp, half));
    for (const Lanes16 &value : z)
      lanes->multiply(value, value, perOutputValue);
  }
  if (spec.addend)
    for (unsigned r = 0; r < z.size(); ++r) {
      loadRowPointer(offsetof(LinearArgs, addend), r);
      lanes->add(z[r], z[r], perOutput(temp, half));
    }
  if (spec.bias) {
    a.mov(temp, arg(offsetof(LinearArgs, bias)));
    lanes->load(perOutputValue, perOutput(temp, half));
    for (const Lanes16 &value : z)
      lanes->add(value, value, perOutputValue);
  }
}

void LinearGenerator::loadRowPointer(size_t pointersOffset, unsigned r) {
  a.mov(temp, arg(pointersOffset));
  a.mov(temp, a.ptr[temp + row * 8 + r * 8]);
}

void LinearGenerator::activate(const Lanes16 &up, unsigned r) {
  if (spec.activation == Activation::None)
    return;
  const Lanes16 gate = lanes->take("gate");
  lanes->load(gate, a.rsp + r * panelBytes);
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

void LinearGenerator::addResidualAndStore(const Lanes16 &v, unsigned r) {
  if (spec.residual) {
    loadRowPointer(offsetof(LinearArgs, residual), r);
    lanes->add(v, v, temp + outOffset);
  }
  loadRowPointer(offsetof(LinearArgs, y), r);
  lanes->store(temp + outOffset, v);
}

} // namespace

KernelCode generateLinear(const KernelSpec &spec) { return LinearGenerator(spec).generate(); }

} // namespace inf
