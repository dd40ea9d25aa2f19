#include "codegen/linear/OneRowDots.h"

namespace inf {

OneRowDots::OneRowDots(LinearContext &linearContext, DotEmitter &dotEmitter)
    : context(linearContext), dots(dotEmitter), a(context.a), format(context.spec.weights),
      row(context.x[0]), stride(context.stride()), blockOffset(context.blockOffset()),
      panel4(context.x[1]), stride3(context.x[2]),
      low(context.lanes->takeRegister("four columns of the row")),
      high(context.lanes->takeRegister("four columns 16 later")) {}

void OneRowDots::blocks(const Tiles &totals) {
  a.lea(stride3, a.ptr[stride + stride * 2]);
  a.lea(panel4, a.ptr[context.cursor + stride * 4]);
  a.loopUpToZero(context.k, blockColumns, [&] { block(totals); });
}

void OneRowDots::block(const Tiles &totals) {
  const DotEmitter::RowSums sums = dots.takeSums(1, oneRowPanels);
  Lines lines;
  for (unsigned line = 0; line < linesInFlight; ++line)
    lines.push_back(dots.takeLine());
  dots.start(sums, ofBlock(offsetof(Q8Block, minus16Sum)));
  addLines(sums, lines);
  scale(totals, sums, lines);
  if (format == WeightFormat::INT4A)
    addMinimums(totals, lines);
  advance();
}

/// A line has one step, or one of its low nibbles and then one of its high ones.
void OneRowDots::addLines(const DotEmitter::RowSums &sums, const Lines &lines) {
  const std::vector<DotStep> &steps = dots.passes().front().steps;
  for (size_t first = 0, count = 1; first < steps.size(); first += count) {
    count = first + 1 < steps.size() && steps[first + 1].line == steps[first].line ? 2 : 1;
    for (size_t i = 0; i < count; ++i)
      a.vpbroadcastd(i == 0 ? low : high, a.dword[row + context.k + steps[first + i].column]);
    for (unsigned panel = 0; panel < oneRowPanels; ++panel) {
      const DotEmitter::Line &line = lines[panel % lines.size()];
      for (size_t i = 0; i < count; ++i) {
        dots.decode(steps[first + i], line, panelAt(panel) + steps[first].line * 64, i != 0);
        a.vpdpbusd(sums.sums[panel], line.codes, i == 0 ? low : high, Xbyak::EvexEncoding);
      }
    }
  }
}

void OneRowDots::scale(const Tiles &totals, const DotEmitter::RowSums &sums, const Lines &lines) {
  for (unsigned panel = 0; panel < oneRowPanels; ++panel) {
    const DotEmitter::Line &line = lines[panel % lines.size()];
    context.lanes->loadScales(line.codes, format, scalesOf(panel), 0);
    dots.scale(totals[panel][0].parts[0], sums.sums[panel], line.codes,
               ofBlock(offsetof(Q8Block, scale)));
  }
}

void OneRowDots::addMinimums(const Tiles &totals, const Lines &lines) {
  const VectorRegister &negativeSum = lines[0].raw;
  dots.loadNegativeSum(negativeSum, ofBlock(offsetof(Q8Block, minus16Sum)));
  for (unsigned panel = 0; panel < oneRowPanels; ++panel) {
    const VectorRegister &minimums = lines[panel % lines.size()].codes;
    context.lanes->loadScales(minimums, format, scalesOf(panel) + panelRows * sizeof(uint16_t), 0);
    dots.addMinimum(totals[panel][0].parts[0], minimums, ofBlock(offsetof(Q8Block, scale)),
                    negativeSum);
  }
}

void OneRowDots::advance() {
  a.add(context.cursor, blockBytes);
  a.add(panel4, blockBytes);
  a.add(blockOffset, sizeof(Q8Block));
}

OneRowDots::Address OneRowDots::panelAt(unsigned panel) const {
  const Gpr &base = panel < 4 ? context.cursor : panel4;
  switch (panel % 4) {
  case 0:
    return Address(base);
  case 3:
    return base + stride3;
  default:
    return base + stride * static_cast<int>(panel % 4);
  }
}

} // namespace inf
