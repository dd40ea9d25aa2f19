#include "codegen/linear/ExactScales.h"

#include <bit>

namespace inf {
namespace {

/// Two of the widest tiles: with fewer rows, looking costs more than is won.
constexpr int fewestRows = 12;
constexpr int greatestField = 254, greatestOrigin = 231, bias = 127;
constexpr int blocksInLine = 64 / sizeof(Q8Block);

/// Lane -> which Q8Block of a line it lies in.
std::vector<uint32_t> blockNumbers() {
  std::vector<uint32_t> numbers;
  for (uint32_t lane = 0; lane < 16; ++lane)
    numbers.push_back(lane / 2);
  return numbers;
}

} // namespace

/// The greatest lane, at most 256.
void ExactScales::moveGreatest(const Gpr &to, const Lanes16 &integers) {
  const VectorRegister &all = integers.parts[0];
  context.a.vcvtdq2ps(all, all);
  context.lanes->foldMax(integers);
  context.a.vcvtps2dq(all, all);
  context.a.vmovd(to.cvt32(), Xbyak::Xmm(all.getIdx()));
}

/// Bits without the sign, as integers, are in the order of the magnitudes; infinities and NaN come
/// last. The least that is not 0 is found as the greatest of 2^32 less twice its bits, which leaves
/// 0 where it is; its exponent field is 255 less the top byte of the difference, or one more.
void ExactScales::lookAtRows() {
  KernelAssembler &a = context.a;
  const Gpr &block = context.x[0], &offset = context.x[1];
  const Lanes16 most = context.lanes->take("greatest scale"),
                least = context.lanes->take("2^32 - twice the least"),
                line = context.lanes->take("scales"), number = context.lanes->take("block number"),
                left = context.lanes->take("blocks left"), zero = context.lanes->take("zero");
  const RegisterPool::Lease mask = a.registers().take(RegisterFile::Mask, "blocks of the row");
  const Xbyak::Opmask inRow(mask.index());
  const Xbyak::Zmm scales(line.parts[0].getIdx());
  Xbyak::Label nextRow, nextLine, done;
  a.mov(lowest(), 0);
  a.cmp(context.arg(offsetof(LinearArgs, rows)), fewestRows);
  a.jl(done, Xbyak::CodeGenerator::T_NEAR);
  for (const Lanes16 *each : {&most, &least, &zero})
    context.lanes->setZero(*each);
  context.lanes->setBits(number, blockNumbers());
  a.mov(offset, context.arg(offsetof(LinearArgs, columns)));
  a.add(offset, 63); // q8BlocksOffset
  a.and_(offset, -64);
  a.mov(context.row, context.arg(offsetof(LinearArgs, rows)));
  a.mov(context.temp, context.arg(offsetof(LinearArgs, x)));
  a.L(nextRow);
  a.mov(block, a.ptr[context.temp]);
  a.add(block, offset);
  a.mov(context.k, context.arg(offsetof(LinearArgs, columns)));
  a.shr(context.k, std::countr_zero(uint64_t{blockColumns}));
  a.L(nextLine);
  context.lanes->broadcastInteger(left, context.k);
  a.vpcmpgtd(inRow, left.parts[0], number.parts[0]);
  a.vmovups(scales | inRow | Xbyak::util::T_z, a.ptr[block]);
  a.vpsllq(scales, scales, 33); // without the sums, and the sign
  a.vpmaxud(most.parts[0], most.parts[0], scales);
  a.vpsubd(scales, zero.parts[0], scales);
  a.vpmaxud(least.parts[0], least.parts[0], scales);
  a.add(block, 64);
  a.sub(context.k, blocksInLine);
  a.jg(nextLine);
  a.add(context.temp, sizeof(void *));
  a.sub(context.row, 1);
  a.jg(nextRow);
  for (const Lanes16 *each : {&most, &least})
    a.vpsrld(each->parts[0], each->parts[0], 24);
  moveGreatest(context.k, most);
  moveGreatest(context.temp, least);
  a.cmp(context.k, greatestField);
  a.jg(done);
  a.mov(highest(), context.k.cvt32());
  a.neg(context.temp);
  a.add(context.temp, 255);
  a.mov(lowest(), context.temp.cvt32()); // 0: a denormal
  a.L(done);
}

void ExactScales::lookAtPanels(unsigned panels) {
  KernelAssembler &a = context.a;
  const auto blockBytes =
      static_cast<uint32_t>(weightBytes(context.spec.weights, panelRows * blockColumns));
  const Lanes16 most = context.lanes->take("greatest scale"),
                least = context.lanes->take("least scale"), line = context.lanes->take("scales");
  Xbyak::Label nextBlock, done;
  a.mov(exact(), 0);
  a.cmp(lowest(), 0);
  a.je(done, Xbyak::CodeGenerator::T_NEAR);
  context.lanes->setZero(most);
  context.lanes->setBits(least, std::vector<uint32_t>(16, 255));
  a.mov(context.cursor, context.weights);
  a.mov(context.k, context.arg(offsetof(LinearArgs, columns)));
  a.shr(context.k, std::countr_zero(uint64_t{blockColumns}));
  a.L(nextBlock);
  for (unsigned panel = 0; panel < panels; ++panel) {
    a.vpmovzxbd(line.parts[0],
                a.ptr[context.panelAt(panel) + blockCodeBytes(context.spec.weights)]);
    a.vpmaxud(most.parts[0], most.parts[0], line.parts[0]);
    a.vpminud(least.parts[0], least.parts[0], line.parts[0]);
  }
  a.add(context.cursor, blockBytes);
  a.sub(context.k, 1);
  a.jg(nextBlock);
  a.vpxord(least.parts[0], least.parts[0], context.lanes->constantOperand(255u));
  moveGreatest(context.k, most);
  moveGreatest(context.temp, least); // 255 - the least
  a.cmp(context.k, greatestOrigin);
  a.jg(done);
  a.add(context.k.cvt32(), highest());
  a.cmp(context.k, greatestField + bias);
  a.jg(done);
  a.mov(context.k.cvt32(), lowest());
  a.sub(context.k, context.temp);
  a.cmp(context.k, 1 + bias - 255); // lowest + least >= 128
  a.jl(done);
  a.mov(exact(), 1);
  a.L(done);
}

void ExactScales::jumpUnlessExact(const Xbyak::Label &target) {
  context.a.cmp(exact(), 0);
  context.a.je(target, Xbyak::CodeGenerator::T_NEAR);
}

} // namespace inf
