// What a compiled model and the runtime stand on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/e2e/Models.h"

using namespace inf;
using namespace inf::test;
using testing::HasSubstr;
using testing::Not;

namespace {

/// Output of a tool of binutils or glibc, which every machine with a compiler has.
std::string toolOutput(Arguments command) {
  const Finished finished = run("/usr/bin/env", command);
  EXPECT_EQ(finished.code, 0) << command.front() << ": " << finished.err;
  return finished.out;
}

size_t lines(const std::string &text) { return size_t(std::count(text.begin(), text.end(), '\n')); }

class Linkage : public testing::TestWithParam<const char *> {
protected:
  std::string model = tinyExact(GetParam());
};

} // namespace

INSTANTIATE_TEST_SUITE_P(Targets, Linkage, testing::Values("avx2", "avx512"), nameOfTarget);

TEST_P(Linkage, aModelNeedsNoLibrary) {
  const std::string dynamic = toolOutput({"readelf", "-dW", model});
  EXPECT_THAT(dynamic, HasSubstr("GNU_HASH")) << "the section is there";
  EXPECT_THAT(dynamic, Not(HasSubstr("NEEDED")));
  EXPECT_THAT(dynamic, Not(HasSubstr("TEXTREL"))) << "code is position independent";
}

TEST_P(Linkage, aModelLeavesNoSymbolUndefined) {
  EXPECT_EQ(toolOutput({"nm", "-u", model}), "");
  EXPECT_EQ(toolOutput({"nm", "-D", "-u", model}), "");
}

TEST_P(Linkage, aModelExportsItsQueryAlone) {
  const std::string exported = toolOutput({"nm", "-D", "--defined-only", model});
  EXPECT_EQ(lines(exported), 1u) << exported;
  EXPECT_THAT(exported, HasSubstr(" T inf_model_query\n"));
}

TEST_P(Linkage, aModelHasNoMutableGlobals) {
  // d, b: data that stays writable. (.data.rel.ro is written by relocation alone, then sealed.)
  const std::string symbols = toolOutput({"readelf", "-SW", model});
  EXPECT_THAT(symbols, HasSubstr(".text"));
  EXPECT_THAT(symbols, Not(HasSubstr(" .data ")));
  EXPECT_THAT(symbols, Not(HasSubstr(" .bss ")));
  EXPECT_THAT(symbols, Not(HasSubstr(" .tdata ")));
  EXPECT_THAT(symbols, Not(HasSubstr(" .tbss ")));
}

TEST_P(Linkage, noPageIsWritableAndExecutable) {
  EXPECT_THAT(toolOutput({"readelf", "-lW", model}), Not(HasSubstr("RWE")));
}

TEST(RuntimeLinkage, infrunHoldsNoCompiler) {
  const std::string libraries = toolOutput({"ldd", INFRUN_PATH});
  EXPECT_THAT(libraries, HasSubstr("libc.so"));
  for (const char *name : {"LLVM", "MLIR", "clang", "lld", "xbyak"})
    EXPECT_THAT(libraries, Not(HasSubstr(name)));
  // Nor linked in statically.
  const std::string symbols = toolOutput({"nm", "-C", INFRUN_PATH});
  EXPECT_THAT(symbols, HasSubstr("inf::Session::step"));
  for (const char *name : {"llvm::", "mlir::", "lld::", "Xbyak::"})
    EXPECT_THAT(symbols, Not(HasSubstr(name)));
}
