// Matmul with its epilogue (codegen/KernelArgs.h, LinearArgs): the loops over panels and rows.
//
//   while the rows ask for groups of P panels and there are P left:
//     for each tile of rows:  z[P] = reduce(group, tile);  finish;  activate;  store
//   for each panel (or pair) left:
//     for each tile of rows:
//       z = reduce(panel, tile);  z = z * scale;  z = z + addend;  z = z + bias
//       with swiglu: z of the gate panel and of the up panel are stashed in the frame
//       y = activation(z) + residual
//
// Calls of many rows on AMX tiles: AmxExactProduct.cpp, AmxProduct.cpp, AmxBf16Product.cpp. All
// else: tiles of registers as Tiling.h says, reductions, with drawings and register budgets, in
// FloatReduction.cpp, IntegerReduction.cpp, Bf16Reduction.cpp and Bf16GroupReduction.cpp. The
// epilogue of a group borrows 3 to 4 Lanes16 while R P hold results.
#include <functional>

#include "codegen/Generators.h"
#include "codegen/linear/AmxTiles.h"
#include "codegen/linear/Epilogue.h"
#include "codegen/linear/Reduction.h"

namespace inf {
namespace {

constexpr unsigned panelBytes = LinearContext::panelBytes;
constexpr unsigned leftOver = 2; ///< rows that are too few for a tile of their own

std::unique_ptr<Reduction> createReduction(LinearContext &context) {
  if (context.spec.inputs == InputFormat::Q8)
    return createIntegerReduction(context);
  if (context.spec.inputs == InputFormat::BF16)
    return context.spec.order == Bf16Order::Groups ? createBf16GroupReduction(context)
                                                   : createBf16Reduction(context);
  return isBlockFormat(context.spec.weights) ? createFloatBlockReduction(context)
                                             : createDenseReduction(context);
}

class LinearGenerator {
public:
  explicit LinearGenerator(const KernelSpec &spec)
      : context(spec), reduction(createReduction(context)), epilogue(context), a(context.a),
        tiling(context.tiling), panelsOfUnit(isPair(spec) ? 2 : 1) {}

  KernelCode generate() {
    a.mov(context.weights, context.arg(offsetof(LinearArgs, weights)));
    a.xor_(context.outOffset, context.outOffset);
    if (context.spec.isa == KernelIsa::Amx)
      tilesOrVectors();
    else
      vectors();
    return a.finish(kernelSymbol(context.spec));
  }

private:
  void vectors() {
    for (const PanelGroup &group : tiling.groups)
      if (group.panels > 1)
        groupLoop(group);
    panelLoop();
  }
  void tilesOrVectors();
  void groupLoop(const PanelGroup &group);
  void skipUnlessRowsAskFor(const PanelGroup &group, const Xbyak::Label &done);
  void panelLoop();
  void setStrides(const PanelGroup &group);
  void rowTiles(unsigned widest, const std::function<void(unsigned)> &tileBody);
  void rowTile(unsigned rows);
  void pairRowTile(unsigned rows);
  void groupTile(const PanelGroup &group, unsigned rows);

  /// Of gate (half 0) and up (1).
  LinearContext::Address stashOf(unsigned row, unsigned half) const {
    return a.rsp + (2 * row + half) * panelBytes;
  }

  LinearContext context;
  std::unique_ptr<Reduction> reduction;
  Epilogue epilogue;
  KernelAssembler &a;
  const Tiling &tiling;
  const unsigned panelsOfUnit;
};

void LinearGenerator::tilesOrVectors() {
  Xbyak::Label manyRows, done;
  a.cmp(context.arg(offsetof(LinearArgs, rows)), amxtiles::fewestRows);
  a.jge(manyRows);
  vectors();
  a.jmp(done);
  a.L(manyRows);
  if (context.spec.inputs == InputFormat::BF16)
    emitAmxBf16Product(context, epilogue);
  else
    emitAmxTiles(context, epilogue);
  a.L(done);
}

void LinearGenerator::groupLoop(const PanelGroup &group) {
  const unsigned units = group.panels / panelsOfUnit;
  Xbyak::Label top, done;
  skipUnlessRowsAskFor(group, done);
  reduction->beginGroups();
  a.L(top);
  a.mov(context.temp, context.outOffset);
  a.shr(context.temp, 6); // / panelBytes
  a.add(context.temp, units);
  a.cmp(context.temp, context.arg(offsetof(LinearArgs, panels)));
  a.jg(done, Xbyak::CodeGenerator::T_NEAR);
  setStrides(group);
  reduction->beginGroup(group.panels);
  rowTiles(group.rows, [&](unsigned rows) { groupTile(group, rows); });
  a.imul(context.temp, context.stride(), static_cast<int>(group.panels));
  a.add(context.weights, context.temp);
  a.add(context.outOffset, units * panelBytes);
  a.jmp(top, Xbyak::CodeGenerator::T_NEAR);
  a.L(done);
}

void LinearGenerator::skipUnlessRowsAskFor(const PanelGroup &group, const Xbyak::Label &done) {
  a.mov(context.temp, context.arg(offsetof(LinearArgs, rows)));
  if (group.fewestRows > 1) {
    a.cmp(context.temp, group.fewestRows);
    a.jl(done, Xbyak::CodeGenerator::T_NEAR);
  }
  if (group.mostRows == PanelGroup::anyRows)
    return;
  a.cmp(context.temp, group.mostRows);
  a.jg(done, Xbyak::CodeGenerator::T_NEAR);
}

void LinearGenerator::panelLoop() {
  Xbyak::Label top, done;
  a.L(top);
  a.mov(context.temp, context.outOffset);
  a.shr(context.temp, 6); // / panelBytes
  a.cmp(context.temp, context.arg(offsetof(LinearArgs, panels)));
  a.jge(done, Xbyak::CodeGenerator::T_NEAR);
  rowTiles(tiling.panelRows, [&](unsigned rows) { rowTile(rows); });
  a.mov(context.weights, context.cursor); // every tile read to the end of the panel
  a.add(context.outOffset, panelBytes);
  a.jmp(top, Xbyak::CodeGenerator::T_NEAR);
  a.L(done);
}

void LinearGenerator::setStrides(const PanelGroup &group) {
  const bool blocks = isBlockFormat(context.spec.weights);
  const auto step = blocks ? blockColumns : 1;
  const auto stepBytes = static_cast<int>(weightBytes(context.spec.weights, panelRows * step));
  a.mov(context.stride(), context.arg(offsetof(LinearArgs, columns)));
  if (blocks)
    a.shr(context.stride(), 5);                   // / blockColumns
  if (context.spec.inputs == InputFormat::BF16) { // two columns side by side
    a.add(context.stride(), 1);
    a.and_(context.stride(), -2);
  }
  a.imul(context.stride(), context.stride(), stepBytes);
  if (context.spec.inputs == InputFormat::F32 && group.panels > 3)
    a.lea(context.stride3(), a.ptr[context.stride() + context.stride() * 2]);
}

/// The widest tile as often as it fits, then each smaller one at most once. Where there is every
/// tile, one or two rows more than the widest are cut into two smaller ones: a tile of a single row
/// costs as much as two rows of a wide one.
void LinearGenerator::rowTiles(unsigned widest, const std::function<void(unsigned)> &tileBody) {
  a.xor_(context.row, context.row);
  for (unsigned tile = widest; tile > 0; tile = tiling.everyTile ? tile - 1 : tile / 2) {
    Xbyak::Label again, done;
    a.L(again);
    a.mov(context.temp, context.arg(offsetof(LinearArgs, rows)));
    a.sub(context.temp, context.row);
    a.cmp(context.temp, tile);
    a.jl(done, Xbyak::CodeGenerator::T_NEAR);
    if (tile == widest && tile > 2 * leftOver && tiling.everyTile) {
      Xbyak::Label whole;
      a.je(whole);
      a.cmp(context.temp, tile + leftOver);
      a.jle(done, Xbyak::CodeGenerator::T_NEAR);
      a.L(whole);
    }
    tileBody(tile);
    a.add(context.row, tile);
    if (tile == widest)
      a.jmp(again, Xbyak::CodeGenerator::T_NEAR);
    a.L(done);
  }
}

void LinearGenerator::rowTile(unsigned rows) {
  a.mov(context.cursor, context.weights);
  if (panelsOfUnit == 2)
    return pairRowTile(rows);
  const Tiles z = reduction->reduce(rows, 1);
  epilogue.finishLinear(z[0], 0);
  for (unsigned r = 0; r < rows; ++r)
    epilogue.addResidualAndStore(z[0][r], r, 0);
}

/// Results of both panels wait in the frame, so that an activation has all registers but two.
void LinearGenerator::pairRowTile(unsigned rows) {
  LanesEmitter &lanes = *context.lanes;
  for (unsigned half = 0; half < 2; ++half) {
    const Tiles z = reduction->reduce(rows, 1);
    epilogue.finishLinear(z[0], half);
    for (unsigned r = 0; r < rows; ++r)
      lanes.store(stashOf(r, half), z[0][r]);
  }
  const Lanes16 gate = lanes.take("gate"), up = lanes.take("up");
  for (unsigned r = 0; r < rows; ++r) {
    lanes.load(gate, stashOf(r, 0));
    lanes.load(up, stashOf(r, 1));
    epilogue.activate(up, gate);
    epilogue.addResidualAndStore(up, r, 0);
  }
}

/// As rowTile, for a group of panels; gate and up are both in registers.
void LinearGenerator::groupTile(const PanelGroup &group, unsigned rows) {
  a.mov(context.cursor, context.weights);
  const Tiles z = reduction->reduce(rows, group.panels);
  for (unsigned panel = 0; panel < group.panels; ++panel)
    epilogue.finishLinear(z[panel], panel);
  for (unsigned unit = 0; unit < group.panels / panelsOfUnit; ++unit)
    for (unsigned r = 0; r < rows; ++r) {
      const Lanes16 &last = z[unit * panelsOfUnit + panelsOfUnit - 1][r];
      if (panelsOfUnit == 2)
        epilogue.activate(last, z[unit * panelsOfUnit][r]);
      epilogue.addResidualAndStore(last, r, unit);
    }
}

} // namespace

KernelCode generateLinear(const KernelSpec &spec) { return LinearGenerator(spec).generate(); }

} // namespace inf
