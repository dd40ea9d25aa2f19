#include "codegen/attention/Scores.h"

#include <vector>

#include "codegen/attention/NextBlock.h"
#include "codegen/attention/OuterProduct.h"

namespace inf {

/// The lines of the next block for those that `cursor` goes through in one turn.
void Scores::fetchKeys(const Gpr &cursor, const Gpr &toNext, unsigned tiles) {
  const unsigned bytes = scoreStep * tileKeys * context.elementBytes;
  for (unsigned tile = 0; tile < tiles; ++tile)
    for (unsigned byte = 0; byte < bytes; byte += lineBytes)
      a.prefetcht1(a.ptr[cursor + toNext + (tile * context.tileBytes() + byte)]);
}

/// Eight dimensions a turn: head_dim is a multiple of 8.
void Scores::emit(HeadRange range, unsigned tiles) {
  const bool fetch = range.first == 0; // once for all heads
  const Gpr d = a.takeGeneral("dimension"), cursor = a.takeGeneral("key cursor");
  const Gpr toNext = a.takeGeneral("to the next block");
  const OuterProduct product(a, lanes, context.spec);
  const HeadSums z = takeHeadSums(lanes, tiles, range.count);
  for (const std::vector<Lanes16> &tile : z)
    for (const Lanes16 &score : tile)
      lanes.setZero(score);
  if (fetch)
    emitDistanceToNext(context, toNext);
  a.mov(cursor, context.keys);
  a.loopBelow(d, context.spec.headDim, scoreStep, [&] {
    for (unsigned i = 0; i < scoreStep; i += context.together()) {
      std::vector<CacheLine> lines;
      std::vector<Address> scalars;
      for (unsigned tile = 0; tile < tiles; ++tile)
        lines.push_back(
            {cursor + (tile * context.tileBytes() + i * tileKeys * context.elementBytes),
             false,
             {}});
      for (unsigned h = 0; h < range.count; ++h)
        scalars.push_back(
            context.q + d * static_cast<int>(context.scalarBytes()) +
            ((range.first + h) * context.queryHeadBytes() + i * context.scalarBytes()));
      product.emit(z, lines, scalars);
    }
    if (fetch)
      fetchKeys(cursor, toNext, tiles);
    a.add(cursor, scoreStep * tileKeys * context.elementBytes);
  });
  for (unsigned tile = 0; tile < tiles; ++tile)
    for (unsigned h = 0; h < range.count; ++h) {
      lanes.multiplyBroadcast(z[tile][h], context.args + offsetof(AttentionArgs, scale));
      lanes.store(context.frame + (context.layout.scores + tile * context.layout.scoreTileBytes +
                                   (range.first + h) * lineBytes),
                  z[tile][h]);
    }
}

} // namespace inf
