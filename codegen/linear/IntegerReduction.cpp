// Rows in int8 (q8, runtime/abi/ActivationRows.h) times weights in blocks of 32 columns: exact
// integer dot products within a block, then floats (codegen/KernelArgs.h).
//
//                 one block, 32 columns              per row r and panel p of the tile, 16 outputs:
//              +----+----+----+----+------+
//   panel p    | line: 4 columns.. |scales|   16      c = sum over the block of code * q
//              +----+----+----+----+------+           total = fma(float(c), w * a, total)
//   row r      | q q q q | ...     | a, sum
//
//   for each block:  for each line: decode it once for the whole tile (R rows, P panels),
//                    then R times: spread four q over the lanes, one dot product a panel
//
// Mxfp4 and many rows: where w * a is exact, total = fma(c * w, a, total) without a multiplication
// (ExactScales.h).
//
// Every c starts anew in its block, so with few rows successive blocks overlap in the core, and one
// panel, a single sequential stream, is enough. (A CPU with AMX takes one row by eight panels:
// OneRowDots.h.)
//
// Vector registers, of one part (a zmm, or one of the two ymm of 16 outputs; on AVX2 a block is
// gone through once for each, which halves what sums take):
//                                 sums   totals   lines   rest                         of
//   AVX-512 VNNI   R = 6, P = 2     12       12       4   2 table, mask + 1            31 of 32
//   AVX-512        R = 4, P = 2   8 + 8       8       4   2 table, mask + 2            32 of 32
//   AVX-VNNI       R = 4, P = 1      4        8       2   1 table or mask + 1          16 of 16
//   AVX2           R = 3, P = 1   3 + 3       6       2   1 table or mask + 1          16 of 16
//     int4, int4a  R = 4, P = 1      4        8       2   1 mask + 1                   16 of 16
// General registers: 7 by role, R rows, the offset of blocks, the stride: 15 with R = 6.
#include "codegen/DotEmitter.h"
#include "codegen/linear/ExactScales.h"
#include "codegen/linear/OneRowDots.h"
#include "codegen/linear/PageFetch.h"
#include "codegen/linear/Reduction.h"

#include <optional>

namespace inf {
namespace {

/// Weights are fetched into the second level cache this far ahead of their use, two pages: farther
/// than the hardware, which stops at the end of a page, and without taking the few places where the
/// first level keeps what it waits for. Measured from memory on Zen 4, mxfp4 at 2, 3, 4 rows: 1.2,
/// 1.5 and 1.7 times as fast; into the first level, at any distance, 1.0, 1.25 and 1.4 times. One
/// row reads as fast as memory goes there without it, and a little slower with it. Not so on
/// Emerald Rapids, where what waits for a line fills the scheduler before enough lines are on their
/// way: one row reads 0.55 of what a plain loop does without, 0.83 with it, and more by pages
/// (PageFetch.h). Kernels for AMX run there alone.
constexpr int prefetchBytes = 8704;

class IntegerReduction final : public Reduction {
public:
  explicit IntegerReduction(LinearContext &linearContext)
      : context(linearContext),
        dots(DotEmitter::create(context.a, *context.lanes, context.spec.weights)),
        exactScales(linearContext) {}

  void beginGroups() override {
    if (context.mayScaleExactly())
      exactScales.lookAtRows();
  }
  void beginGroup(unsigned panels) override {
    if (context.mayScaleExactly())
      exactScales.lookAtPanels(panels);
  }

  Tiles reduce(unsigned rows, unsigned panels) override {
    Tiles totals = context.takeTiles("total", rows, panels);
    dots->prepare(panels);
    pointAtBlocks(rows);
    if (panels == oneRowPanels)
      OneRowDots(context, *dots).blocks(totals);
    else
      blocksOf(totals);
    dots->finish();
    if (format == WeightFormat::MXFP4) // codes counted twice
      for (const Tile &tile : totals)
        for (const Lanes16 &total : tile)
          context.lanes->multiplyConstant(total, total, 0.5f);
    return totals;
  }

private:
  using Address = LanesEmitter::Address;
  using Lines = std::vector<DotEmitter::Line>;
  using Sums = std::vector<DotEmitter::RowSums>; ///< one a row
  enum class Scaling { Rounded, Exact };         ///< by w * a; as ExactScales.h says

  /// x[r] = the end of the row's codes; its blocks follow after padding to 64 bytes.
  void pointAtBlocks(unsigned rows) {
    context.a.mov(context.k, context.arg(offsetof(LinearArgs, columns)));
    context.a.mov(context.blockOffset(), context.k);
    context.a.and_(context.blockOffset(), blockColumns);
    context.pointAtRows(rows, 1);
  }

  /// temp = what is prefetched next.
  void pointBehindGroup(unsigned panels) {
    context.a.mov(context.temp, context.stride());
    context.a.imul(context.temp, context.temp, static_cast<int>(panels));
    context.a.add(context.temp, context.weights);
  }

  void blocksOf(const Tiles &totals) {
    const auto panels = static_cast<unsigned>(totals.size());
    const auto rows = static_cast<unsigned>(totals[0].size());
    pages.reset();
    if (panels > 1)
      pointBehindGroup(panels);
    else if (fetchesByPages(rows))
      pages.emplace(context.a, context.temp, context.x[rows]).begin(context.cursor);
    if (panels > 1 && context.mayScaleExactly())
      blocksOfEitherScaling(totals);
    else
      blocks(totals, Scaling::Rounded);
  }

  void blocksOfEitherScaling(const Tiles &totals) {
    Xbyak::Label rounded, done;
    exactScales.jumpUnlessExact(rounded);
    blocks(totals, Scaling::Exact);
    context.a.jmp(done, Xbyak::CodeGenerator::T_NEAR);
    context.a.L(rounded);
    blocks(totals, Scaling::Rounded);
    context.a.L(done);
  }

  void blocks(const Tiles &totals, Scaling scaling) {
    context.a.loopUpToZero(context.k, blockColumns, [&] { block(totals, scaling); });
  }

  void block(const Tiles &totals, Scaling scaling) {
    prefetch(totals);
    for (unsigned part = 0; part < context.lanes->partCount(); ++part)
      partOfBlock(totals, part, scaling);
    context.a.add(context.cursor, static_cast<uint32_t>(blockBytes));
    context.a.add(context.blockOffset(), sizeof(Q8Block));
  }

  /// Few rows: such a tile leaves a register of x free.
  bool fetchesByPages(unsigned rows) const {
    return context.spec.isa == KernelIsa::Amx && rows < context.tiling.groups[0].fewestRows;
  }

  void prefetch(const Tiles &totals) {
    if (pages)
      return pages->step(blockBytes);
    const auto panels = static_cast<int>(totals.size());
    if (panels == 1 && totals[0].size() == 1) // see above
      return;
    for (int line = 0; line < panels * blockBytes; line += 64)
      context.a.prefetcht1(panels == 1 ? context.a.ptr[context.cursor + prefetchBytes + line]
                                       : context.a.ptr[context.temp + line]);
    if (panels > 1)
      context.a.add(context.temp, panels * blockBytes);
  }

  void partOfBlock(const Tiles &totals, unsigned part, Scaling scaling) {
    const auto panels = static_cast<unsigned>(totals.size());
    const auto rows = static_cast<unsigned>(totals[0].size());
    Sums sums;
    Lines lines;
    for (unsigned r = 0; r < rows; ++r)
      sums.push_back(dots->takeSums(rows, panels));
    for (unsigned panel = 0; panel < panels; ++panel)
      lines.push_back(dots->takeLine());
    start(sums, lines, scaling);
    for (const DotPass &pass : dots->passes()) {
      addPass(sums, lines, pass, part);
      for (unsigned r = 0; r < rows; ++r)
        dots->endPass(sums[r], pass, minus16Sum(r));
    }
    if (scaling == Scaling::Exact)
      scaleExactly(totals, sums, lines);
    else
      scale(totals, sums, lines, part);
    if (format == WeightFormat::INT4A)
      addMinimums(totals, lines, part);
  }

  void start(const Sums &sums, const Lines &lines, Scaling scaling) {
    if (scaling == Scaling::Exact)
      loadOrigins(lines);
    for (unsigned r = 0; r < sums.size(); ++r)
      if (scaling == Scaling::Exact)
        dots->startAtOrigins(sums[r], lines, minus16Sum(r));
      else
        dots->start(sums[r], minus16Sum(r));
  }

  /// At its start and again at its end: kept in registers, where there are any, they are no faster.
  void loadOrigins(const Lines &lines) {
    for (unsigned panel = 0; panel < lines.size(); ++panel)
      dots->loadOrigin(lines[panel].codes, scalesOf(panel));
  }

  void scaleExactly(const Tiles &totals, const Sums &sums, const Lines &lines) {
    loadOrigins(lines);
    for (unsigned r = 0; r < sums.size(); ++r)
      for (unsigned panel = 0; panel < lines.size(); ++panel)
        dots->scaleFromOrigin(totals[panel][r].parts[0], sums[r].sums[panel], lines[panel].codes,
                              scaleOf(r));
  }

  void addPass(const Sums &sums, const Lines &lines, const DotPass &pass, unsigned part) {
    for (size_t i = 0; i < pass.steps.size(); ++i) {
      const DotStep &step = pass.steps[i];
      const bool loaded = i != 0 && pass.steps[i - 1].line == step.line;
      for (unsigned panel = 0; panel < lines.size(); ++panel)
        dots->decode(step, lines[panel], lineAt(panel, step.line, part), loaded);
      for (unsigned r = 0; r < sums.size(); ++r)
        dots->dots(sums[r], lines, context.x[r] + context.k + step.column, i);
    }
  }

  void scale(const Tiles &totals, const Sums &sums, const Lines &lines, unsigned part) {
    for (unsigned panel = 0; panel < lines.size(); ++panel)
      context.lanes->loadScales(lines[panel].codes, format, scalesOf(panel), part);
    for (unsigned r = 0; r < sums.size(); ++r)
      for (unsigned panel = 0; panel < lines.size(); ++panel)
        dots->scale(totals[panel][r].parts[part], sums[r].sums[panel], lines[panel].codes,
                    scaleOf(r));
  }

  void addMinimums(const Tiles &totals, const Lines &lines, unsigned part) {
    for (unsigned panel = 0; panel < lines.size(); ++panel)
      context.lanes->loadScales(lines[panel].codes, format, scalesOf(panel) + 16 * sizeof(uint16_t),
                                part);
    const VectorRegister &negativeSum = lines[0].raw;
    for (unsigned r = 0; r < totals[0].size(); ++r) {
      dots->loadNegativeSum(negativeSum, minus16Sum(r));
      for (unsigned panel = 0; panel < lines.size(); ++panel)
        dots->addMinimum(totals[panel][r].parts[part], lines[panel].codes, scaleOf(r), negativeSum);
    }
  }

  Address lineAt(unsigned panel, unsigned line, unsigned part) const {
    return context.panelAt(panel) + line * 64 + part * 32;
  }
  Address scalesOf(unsigned panel) const { return context.panelAt(panel) + blockCodeBytes(format); }
  Address blockOf(unsigned r) const { return context.x[r] + context.blockOffset(); }
  Address scaleOf(unsigned r) const {
    return blockOf(r) + static_cast<int>(offsetof(Q8Block, scale));
  }
  Address minus16Sum(unsigned r) const {
    return blockOf(r) + static_cast<int>(offsetof(Q8Block, minus16Sum));
  }

  LinearContext &context;
  const WeightFormat format = context.spec.weights;
  const int blockBytes = static_cast<int>(weightBytes(format, panelRows *blockColumns));
  std::unique_ptr<DotEmitter> dots;
  ExactScales exactScales;
  std::optional<PageFetch> pages; ///< of the tile that is being reduced
};

} // namespace

std::unique_ptr<Reduction> createIntegerReduction(LinearContext &context) {
  return std::make_unique<IntegerReduction>(context);
}

} // namespace inf
