// Models compiled into the process that runs them, against the model.so of `infc compile`.
#include <dlfcn.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/jit/Jit.h"
#include "runtime/jit/PerfMap.h"
#include "tests/e2e/Models.h"
#include "tests/e2e/Sessions.h"
#include "tests/runtime/format/TestSupport.h"

using namespace inf;
using namespace inf::test;
using testing::ElementsAreArray;
using testing::HasSubstr;
using testing::Not;

namespace {

const std::vector<int32_t> tokens = {491, 475, 258, 304, 11, 262, 378, 257, 1, 77};

JitOptions jitOf(const std::string &target, bool exact) {
  JitOptions options;
  options.source.input = tinyModel;
  options.source.target = target;
  options.source.quant = exact ? "none" : "";
  options.source.kv = exact ? "f32" : "";
  options.compiler = INF_COMPILER_PATH;
  options.useCache = false;
  return options;
}

AllLogits logitsOf(std::shared_ptr<const Model> model) {
  SessionOptions options;
  options.context = 64;
  Session session(std::move(model), options);
  return prefillLogits(session, 0, tokens);
}

class JitBits : public testing::TestWithParam<const char *> {
protected:
  void SetUp() override { SKIP_UNLESS_RUNS(GetParam()); }
  void TearDown() override { unlink(perfMapPath().c_str()); }
};

/// LLVM's half of GDB's interface to code in memory (GDB manual, "JIT Compilation Interface").
struct DebugEntry {
  DebugEntry *next, *previous;
  const char *file;
  uint64_t bytes;
};
struct DebugDescriptor {
  uint32_t version, action;
  DebugEntry *relevant, *first;
};

std::string toolOutput(const Arguments &command) {
  const Finished finished = run("/usr/bin/env", command);
  EXPECT_EQ(finished.code, 0) << command.front() << ": " << finished.err;
  return finished.out;
}

double secondsOf(const Arguments &arguments, const std::string &expected) {
  const auto begin = std::chrono::steady_clock::now();
  const Finished finished = infrun(arguments);
  const auto end = std::chrono::steady_clock::now();
  EXPECT_EQ(finished.code, 0) << finished.err;
  EXPECT_EQ(finished.out, expected);
  return std::chrono::duration<double>(end - begin).count();
}

} // namespace

INSTANTIATE_TEST_SUITE_P(Targets, JitBits, testing::Values("avx2", "avx512"), nameOfTarget);

TEST_P(JitBits, inMemoryAndFromAFileAModelGivesTheSameBitsWhateverIsRounded) {
  for (const bool exact : {false, true}) {
    const std::string file = exact ? tinyExact(GetParam()) : tinyDefault(GetParam());
    const std::shared_ptr<const Model> memory = compileAndLoad(jitOf(GetParam(), exact));
    const std::shared_ptr<const Model> library = Model::load(file);
    EXPECT_EQ(memory->code().build_id[0], library->code().build_id[0]);
    EXPECT_TRUE(std::equal(memory->weights().begin(), memory->weights().end(),
                           library->weights().begin(), library->weights().end()));
    EXPECT_TRUE(sameBits(logitsOf(memory), logitsOf(library))) << "exact: " << exact;
  }
}

TEST_P(JitBits, aCachedModelIsTheFileThatInfcWrites) {
  TempFolder folder;
  JitOptions options = jitOf(GetParam(), false);
  options.useCache = true;
  options.cache.directory = folder / "cache";
  const std::shared_ptr<const Model> model = compileAndLoad(options);
  EXPECT_THAT(model->path(), HasSubstr(options.cache.directory));
  EXPECT_EQ(toolOutput({"cmp", model->path(), tinyDefault(GetParam())}), "");
}

TEST(Jit, perfFindsTheNamesOfKernelsAndLayersInMemory) {
  const std::shared_ptr<const Model> model = compileAndLoad(jitOf("avx2", false));
  std::ifstream file(perfMapPath());
  std::map<std::string, std::pair<uint64_t, uint64_t>> places;
  uint64_t address = 0, bytes = 0;
  for (std::string name; file >> std::hex >> address >> bytes >> name;)
    places[name] = {address, bytes};
  EXPECT_TRUE(file.eof()) << "every line is START SIZE name";
  for (const KernelUse &kernel : model->manifest().kernels)
    EXPECT_GT(places[kernel.symbol].second, 0u) << kernel.symbol;
  EXPECT_TRUE(places.count("inf_block_full") && places.count("inf_block_sliding"));
  EXPECT_EQ(places["inf_model_step"].first, reinterpret_cast<uint64_t>(model->code().step));
  unlink(perfMapPath().c_str());
}

TEST(Jit, gdbFindsTheNamesOfKernelsAndLayersInMemory) {
  const std::shared_ptr<const Model> model = compileAndLoad(jitOf("avx2", false));
  void *library = dlopen(INF_COMPILER_PATH, RTLD_NOW | RTLD_NOLOAD);
  ASSERT_TRUE(library);
  auto *descriptor = static_cast<const DebugDescriptor *>(dlsym(library, "__jit_debug_descriptor"));
  ASSERT_TRUE(descriptor);
  EXPECT_EQ(descriptor->version, 1u);
  TempFolder folder;
  std::string names;
  for (const DebugEntry *entry = descriptor->first; entry; entry = entry->next) {
    const std::string path = folder / "object";
    std::ofstream(path, std::ios::binary).write(entry->file, std::streamsize(entry->bytes));
    names += toolOutput({"nm", path});
  }
  for (const KernelUse &kernel : model->manifest().kernels)
    EXPECT_THAT(names, HasSubstr(" " + kernel.symbol + "\n"));
  EXPECT_THAT(names, HasSubstr(" inf_block_full\n"));
  EXPECT_THAT(names, HasSubstr(fmt::format(" {}\n", "inf_model_step")));
  dlclose(library);
  unlink(perfMapPath().c_str());
}

TEST(Jit, gdbForgetsAModelThatIsGone) {
  { compileAndLoad(jitOf("avx2", false)); }
  void *library = dlopen(INF_COMPILER_PATH, RTLD_NOW | RTLD_NOLOAD);
  ASSERT_TRUE(library);
  auto *descriptor = static_cast<const DebugDescriptor *>(dlsym(library, "__jit_debug_descriptor"));
  ASSERT_TRUE(descriptor);
  EXPECT_EQ(descriptor->first, nullptr);
  dlclose(library);
  unlink(perfMapPath().c_str());
}

TEST(Jit, aFileHasTheNamesOfKernelsAndLayersInItsSymbolTable) {
  const std::string path = tinyDefault("avx2");
  const std::string names = toolOutput({"nm", path});
  const std::shared_ptr<const Model> model = Model::load(path);
  for (const KernelUse &kernel : model->manifest().kernels)
    EXPECT_THAT(names, HasSubstr(" t " + kernel.symbol + "\n"));
  for (const char *name : {"inf_block_full", "inf_block_sliding", "inf_model_step"})
    EXPECT_THAT(names, HasSubstr(fmt::format(" t {}\n", name)));
}

TEST(Jit, aCachedModelStartsWithinThreeTenthsOfASecondOfItsFile) {
  TempFolder folder;
  const Arguments what = {"--ids", "491,475", "--max-tokens", "2"};
  Arguments file = {tinyDefault("avx2")};
  Arguments cached = {tinyModel, "--target=avx2", "--cache-dir", folder / "cache"};
  file.insert(file.end(), what.begin(), what.end());
  cached.insert(cached.end(), what.begin(), what.end());
  const std::string text = infrun(file).out;
  secondsOf(cached, text); // compiles
  double fileSeconds = 1e9, cachedSeconds = 1e9;
  for (int i = 0; i < 5; ++i) { // the best of each: the machine may be busy with something else
    fileSeconds = std::min(fileSeconds, secondsOf(file, text));
    cachedSeconds = std::min(cachedSeconds, secondsOf(cached, text));
  }
  RecordProperty("file_ms", int(fileSeconds * 1e3));
  RecordProperty("cached_ms", int(cachedSeconds * 1e3));
  EXPECT_LT(cachedSeconds, fileSeconds + 0.3);
}

TEST(Jit, intoAPipeACompileSaysNothing) {
  TempFolder folder;
  const Finished finished =
      infrun({tinyModel, "--target=avx2", "--cache-dir", folder / "cache", "--ids", "1"});
  EXPECT_EQ(finished.code, 0);
  EXPECT_THAT(finished.err, testing::StartsWith("infrun: prompt 1 tokens"));
}

TEST(Jit, withoutACompilerTheRefusalSaysWhereItWasLookedFor) {
  expectRefused(infrun({tinyModel, "--ids", "1", "--compiler", "/nowhere/libinf_compiler.so"}), 5,
                {"/nowhere/libinf_compiler.so", "--compiler"});
  TempFolder folder; // the program alone, installed without its compiler
  const std::string program = folder / "infrun";
  toolOutput({"cp", INFRUN_PATH, program});
  expectRefused(run(program, {tinyModel, "--ids", "1"}), 5, {"libinf_compiler.so", "infc compile"});
}

TEST(Jit, aLibraryThatIsNoCompilerIsRefused) {
  expectRefused(infrun({tinyModel, "--ids", "1", "--compiler", tinyDefault("avx2")}), 4,
                {"no compiler of version 1"});
}

TEST(Jit, flagsOfACompileAreRefusedForACompiledModel) {
  for (const char *flag :
       {"--target=avx2", "--quant=int4", "--kv=f32", "--activations=f32", "--no-cache"})
    expectRefused(infrun({tinyDefault("avx2"), "--ids", "1", flag}), 2, {"compiled already"});
}

TEST(Jit, aWrongFlagIsRefusedAsInfcRefusesIt) {
  TempFolder folder;
  expectRefused(infrun({tinyModel, "--ids", "1", "--quant=int3", "--cache-dir", folder / "cache"}),
                2, {"int3"});
  expectRefused(infrun({folder / "nothing.json", "--ids", "1"}), 5, {"nothing of that name"});
}
