#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codegen/Kernel.h"
#include "runtime/base/Error.h"
#include "tests/codegen/ToolRun.h"

namespace inf::test {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;

/// One with every callee-saved register and a frame, one with neither.
std::vector<KernelCode> twoKernels() {
  KernelSpec big;
  big.isa = KernelIsa::Avx512, big.weights = WeightFormat::MXFP4, big.rows = 8;
  big.activation = Activation::Swiglu;
  return {generateKernel(big), generateKernel(KernelSpec{})};
}

TEST(ObjectWriter, TheObjectLinksWithoutUndefinedSymbols) {
  const TemporaryFolder folder("link");
  const std::string object = folder.write("kernels.o", writeKernelObject(twoKernels()));
  const ToolResult result = runTool("ld.lld", "-shared -z defs -z text --fatal-warnings -o " +
                                                  folder.file("kernels.so") + " " + object);
  EXPECT_EQ(result.status, 0) << result.output;
}

TEST(ObjectWriter, KernelsAreHiddenFunctionsWithSizesAlignedToALine) {
  const TemporaryFolder folder("symbols");
  const std::vector<KernelCode> kernels = twoKernels();
  const std::string object = folder.write("kernels.o", writeKernelObject(kernels));
  EXPECT_THAT(runTool("llvm-nm", object).output, HasSubstr(" T " + kernels[0].symbol));
  const std::string symbols = runTool("llvm-readelf", "-sW " + object).output;
  for (const KernelCode &code : kernels)
    EXPECT_THAT(symbols, ContainsRegex("[048c]0 +" + std::to_string(code.bytes.size()) +
                                       " FUNC +GLOBAL +HIDDEN +[0-9]+ " + code.symbol));
}

TEST(ObjectWriter, UnwindTablesFollowEveryPushAndPop) {
  const TemporaryFolder folder("cfi");
  const std::vector<KernelCode> kernels = twoKernels();
  const std::string object = folder.write("kernels.o", writeKernelObject(kernels));
  const std::string frames = runTool("llvm-dwarfdump", "--eh-frame " + object).output;
  ASSERT_EQ(kernels[0].pushEnds.size(), 6u);
  EXPECT_THAT(frames, HasSubstr("DW_CFA_offset: RBX -16"));
  EXPECT_THAT(frames, HasSubstr("DW_CFA_offset: RBP -24"));
  EXPECT_THAT(frames, HasSubstr("DW_CFA_offset: R15 -56"));
  const uint32_t deepest = 8 + 6 * 8 + kernels[0].frameBytes;
  EXPECT_THAT(frames, HasSubstr("DW_CFA_def_cfa_offset: +" + std::to_string(deepest)));
  const size_t lastOffset = frames.rfind("DW_CFA_def_cfa_offset: +8\n");
  EXPECT_NE(lastOffset, std::string::npos) << frames; // after the last pop
}

TEST(ObjectWriter, TheSameKernelsGiveTheSameObject) {
  EXPECT_EQ(writeKernelObject(twoKernels()), writeKernelObject(twoKernels()));
}

TEST(ObjectWriter, AKernelListedTwiceIsRefusedByName) {
  std::vector<KernelCode> kernels = twoKernels();
  kernels.push_back(kernels[1]);
  EXPECT_THROW(writeKernelObject(kernels), Error);
}

TEST(ObjectWriter, OffsetsOutsideTheBytesAreRefused) {
  KernelCode code = generateKernel(KernelSpec{});
  code.codeBytes = static_cast<uint32_t>(code.bytes.size()) + 1;
  EXPECT_THROW(writeKernelObject({code}), Error);
  code = twoKernels()[0];
  code.pushEnds[1] = code.pushEnds[0] - 1;
  EXPECT_THROW(writeKernelObject({code}), Error);
}

TEST(ObjectWriter, NoKernelsGiveAnEmptyObject) {
  const TemporaryFolder folder("empty");
  const std::string object = folder.write("empty.o", writeKernelObject({}));
  EXPECT_EQ(runTool("llvm-readelf", "-h " + object).status, 0);
}

} // namespace
} // namespace inf::test
