#include "codegen/linear/Bf16Pairs.h"

#include "codegen/Mxcsr.h"

namespace inf {
namespace {

/// As for q8 rows (IntegerReduction.cpp): fetched into the second level cache two pages ahead.
constexpr int prefetchBytes = 8704;
constexpr unsigned fewestRowsToPrefetch(KernelIsa isa) { return isa == KernelIsa::Amx ? 1 : 2; }
constexpr uint32_t upperHalf = 0xFFFF0000u;

} // namespace

/// With panels side by side temp = what is prefetched next.
void PairWalk::begin() {
  KernelAssembler &a = context.a;
  a.mov(context.k, context.arg(offsetof(LinearArgs, columns)));
  a.add(context.k, 1);
  a.and_(context.k, -2);
  context.pointAtRows(rows, sizeof(uint16_t));
  if (panels == 1)
    return;
  a.mov(context.temp, context.stride());
  a.imul(context.temp, context.temp, static_cast<int>(panels));
  a.add(context.temp, context.weights);
}

void PairWalk::prefetch() {
  if (rows < fewestRowsToPrefetch(context.spec.isa))
    return;
  if (panels == 1)
    return context.a.prefetcht1(context.a.ptr[context.cursor + prefetchBytes]);
  for (unsigned panel = 0; panel < panels; ++panel)
    context.a.prefetcht1(context.a.ptr[context.temp + panel * lineBytes]);
  context.a.add(context.temp, panels * lineBytes);
}

TakenApart::TakenApart(LinearContext &context, unsigned panels)
    : a(context.a), lanes(*context.lanes), even(lanes.takeMany("even columns", panels)),
      odd(lanes.takeMany("odd columns", panels)), evenX(lanes.takeRegister("even x")),
      oddX(lanes.takeRegister("odd x")) {}

void TakenApart::dropDenormals() { setMxcsr(a, stepMxcsr | zeroDenormals); }
void TakenApart::keepDenormals() { setMxcsr(a, stepMxcsr); }

void TakenApart::loadWeights(unsigned panel, const LanesEmitter::Address &line) {
  lanes.load(odd[panel], line);
  for (unsigned part = 0; part < lanes.partCount(); ++part)
    takeApart(even[panel].parts[part], odd[panel].parts[part]);
}

void TakenApart::spreadX(const LanesEmitter::Address &pair) {
  a.vbroadcastss(oddX, a.dword[pair]);
  takeApart(evenX, oddX);
}

void TakenApart::addOdd(const Lanes16 &sum, unsigned panel) {
  for (unsigned part = 0; part < lanes.partCount(); ++part)
    a.vfmadd231ps(sum.parts[part], odd[panel].parts[part], oddX);
}

void TakenApart::addEven(const Lanes16 &sum, unsigned panel) {
  for (unsigned part = 0; part < lanes.partCount(); ++part)
    a.vfmadd231ps(sum.parts[part], even[panel].parts[part], evenX);
}

void TakenApart::takeApart(const Xbyak::Ymm &low, const Xbyak::Ymm &both) {
  a.vpslld(low, both, 16);
  lanes.bitAnd(both, upperHalf);
}

} // namespace inf
