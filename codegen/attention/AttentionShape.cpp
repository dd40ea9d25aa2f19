#include "codegen/attention/AttentionShape.h"

#include <algorithm>

namespace inf {
namespace {

/// Eight heads by two lines take 16 accumulators of 32 and load 10 times for 16 FMAs; more heads at
/// once would leave one line, at 9 loads for 8. On AVX2 six heads by one line take 12 of 16. AMX
/// tiles have sixteen rows.
unsigned mostHeads(KernelIsa isa) {
  if (isa == KernelIsa::Amx)
    return 16;
  return isWide(isa) ? 8 : 6;
}

std::vector<HeadRange> nearEqual(unsigned group, unsigned most) {
  const unsigned parts = (group + most - 1) / most;
  std::vector<HeadRange> ranges;
  for (unsigned part = 0; part < parts; ++part) {
    const unsigned first = group * part / parts, end = group * (part + 1) / parts;
    ranges.push_back({first, end - first});
  }
  return ranges;
}

/// The register budget of codegen/attention/OuterProduct.h.
bool fits(KernelIsa isa, unsigned heads, unsigned lines) {
  if (isa == KernelIsa::Amx) // sums are in tiles
    return true;
  const unsigned parts = isWide(isa) ? 1 : 2, registers = isWide(isa) ? 32 : 16;
  return heads * lines * parts + std::min(heads, lines * parts) + 1 <= registers;
}

unsigned tilesOfStep(const KernelSpec &spec, unsigned heads) {
  for (unsigned tiles : {4u, 2u})
    if (tiles * AttentionShape::tileKeys <= spec.blockTokens && fits(spec.isa, heads, tiles))
      return tiles;
  return 1;
}

/// As many as fit, at most 8, and so that the passes over the dimensions are near equal.
unsigned linesOfValues(const KernelSpec &spec, unsigned heads) {
  const unsigned lines = (spec.headDim + 15) / 16;
  unsigned most = 1;
  while (most < std::min(lines, 8u) && fits(spec.isa, heads, most + 1))
    ++most;
  const unsigned passes = (lines + most - 1) / most;
  return (lines + passes - 1) / passes;
}

/// Whole lines, so that the last store of a converted query may be one.
unsigned queryBytes(const KernelSpec &spec) {
  if (spec.inputs != InputFormat::BF16)
    return 0;
  const bool pairs = spec.isa == KernelIsa::Avx512Bf16 || spec.isa == KernelIsa::Amx;
  const unsigned elementBytes = pairs ? 2 : 4;
  const unsigned bytes = spec.group * spec.headDim * elementBytes;
  return (bytes + AttentionFrame::lineBytes - 1) / AttentionFrame::lineBytes *
         AttentionFrame::lineBytes;
}

unsigned mostTogether(const std::vector<HeadRange> &heads) {
  unsigned most = 0;
  for (HeadRange range : heads)
    most = std::max(most, range.count);
  return most;
}

} // namespace

AttentionShape::AttentionShape(const KernelSpec &spec)
    : halfLine(spec.headDim % 16 != 0), heads(nearEqual(spec.group, mostHeads(spec.isa))),
      tiles(tilesOfStep(spec, mostTogether(heads))),
      valueLines(linesOfValues(spec, mostTogether(heads))) {}

AttentionFrame::AttentionFrame(const AttentionShape &shape, const KernelSpec &spec)
    : scoreTileBytes(spec.group * lineBytes), scores(0), maximum(shape.tiles * scoreTileBytes),
      alpha(maximum + shape.tiles * lineBytes), runningMaximum(alpha + shape.tiles * lineBytes),
      sum(runningMaximum + lineBytes), laneSums(sum + lineBytes),
      changed(laneSums + spec.group * lineBytes), firstLane(changed + 8), lastLane(firstLane + 8),
      toNext(lastLane + 8), query(changed + lineBytes), chunkLast(toNext + 8), total(chunkLast + 8),
      totalMaximum(query + queryBytes(spec)), totalSum(totalMaximum + lineBytes),
      totalFactor(totalSum + lineBytes), chunkFactor(totalFactor + lineBytes),
      chunkAcc(chunkFactor + lineBytes), groupValues(chunkAcc + spec.group * spec.headDim * 4),
      bytes(groupValues + (spec.isa == KernelIsa::Amx ? lineBytes * spec.headDim : 0)) {}

} // namespace inf
