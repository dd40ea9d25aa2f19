// What a run takes: the address space that --verbose names, and the time until the first token.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <regex>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "runtime/cpu/SystemRoot.h"
#include "runtime/cpu/ThreadPlan.h"
#include "tests/e2e/Models.h"
#include "tests/runtime/format/TestSupport.h"

using namespace inf;
using namespace inf::test;
using testing::ContainerEq;
using testing::HasSubstr;
using testing::Not;
namespace fs = std::filesystem;

namespace {

using Names = std::vector<std::string>;

/// "infrun: what 12.3 unit: a 1.0, b 2.0" of stderr.
struct Report {
  double whole = 0;
  Names names;
  std::vector<double> parts;
  double sum() const { return std::accumulate(parts.begin(), parts.end(), 0.0); }
};

Report reportOf(const Finished &finished, const std::string &what) {
  Report report;
  std::smatch line, part;
  const std::regex wholeLine("infrun: " + what + R"( ([0-9.]+) M?[a-zB]+: (.*)\n)");
  if (!std::regex_search(finished.err, line, wholeLine)) {
    ADD_FAILURE() << "no line of " << what << " in: " << finished.err;
    return report;
  }
  report.whole = std::stod(line[1]);
  std::string rest = line[2];
  const std::regex each(R"(([a-z][a-z ]*[a-z]) ([0-9.]+)( \([0-9.]+ GB/s\))?(, )?)");
  for (; std::regex_search(rest, part, each); rest = part.suffix()) {
    report.names.push_back(part[1]);
    report.parts.push_back(std::stod(part[2]));
  }
  return report;
}

Report memoryOf(const Finished &finished) { return reportOf(finished, "address space"); }
Report timesOf(const Finished &finished) { return reportOf(finished, "first token after"); }

Finished generate(const std::string &model, const Arguments &more, const RunLimits &limits = {}) {
  Arguments arguments = {model,         "--ids=1,2,3", "--max-tokens=256", "--ignore-eos",
                         "--threads=2", "--verbose",   "--print-ids"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return infrun(arguments, limits);
}

RunLimits ofAddressSpace(double megabytes) {
  RunLimits limits;
  limits.addressSpaceBytes = uint64_t(megabytes * 1e6);
  return limits;
}

/// MB of program, libraries, a small tokenizer and two stacks; glibc may reserve 64 MiB for each of
/// two threads that copy and allocate.
double programMost(const Arguments &flags) {
  const bool copies = std::find(flags.begin(), flags.end(), "--load=copy") != flags.end();
  return copies ? 48 + 2 * 67.2 : 48;
}

/// A run without a limit says how much address space it has; a run within that and a tenth more
/// gives the same 256 tokens, and one with room for the program alone is refused before the first.
void expectRunsInItsPlan(const std::string &model, const Arguments &flags) {
  const Finished free = generate(model, flags);
  ASSERT_EQ(free.code, 0) << free.err;
  const Report plan = memoryOf(free);
  EXPECT_THAT(plan.names, ContainerEq(Names{"program", "weights", "keys and values", "step"}));
  EXPECT_NEAR(plan.sum(), plan.whole, 0.25) << "four numbers, rounded";
  EXPECT_LT(plan.parts.at(0), programMost(flags)) << "a second copy of the weights would be in it";
  const Finished limited = generate(model, flags, ofAddressSpace(plan.whole * 1.1));
  EXPECT_EQ(limited.code, 0) << limited.err;
  EXPECT_EQ(limited.out, free.out);
  EXPECT_EQ(std::count(limited.out.begin(), limited.out.end(), ' '), 255);
  const Finished refused = generate(model, flags, ofAddressSpace(27));
  EXPECT_EQ(refused.code, 3) << refused.err;
  EXPECT_EQ(refused.out, "");
}

/// gpt-oss-tiny with so many experts that the weights are what a run takes: a tenth of the plan is
/// far less than a second copy of them.
std::string manyExperts() {
  std::ifstream file(INF_SOURCE_DIR "/models/gpt-oss-tiny.json");
  nlohmann::ordered_json model = nlohmann::ordered_json::parse(file);
  for (auto &block : model["blocks"])
    block["moe"]["experts"] = 512;
  model.erase("weights");
  model.erase("tokenizer");
  model.erase("chat_template");
  static TempFolder folder;
  writeBytes(folder / "model.json", model.dump());
  return compiled(folder / "model.json", {"--target=avx2", "--weights=random:1", "--no-tokenizer"});
}

} // namespace

TEST(AddressSpace, ofTheSmallModelIsWhatItsPlanSays) {
  for (const char *load : {"--load=map", "--load=copy"})
    expectRunsInItsPlan(tinyDefault("avx2"), {load});
}

TEST(AddressSpace, ofAModelOfManyWeightsIsWhatItsPlanSays) {
  const std::string model = manyExperts();
  ASSERT_GT(memoryOf(generate(model, {})).parts.at(1), 150) << "MB of weights";
  for (const char *load : {"--load=map", "--load=copy"})
    expectRunsInItsPlan(model, {load});
}

TEST(FirstToken, isSplitIntoPartsThatSumToTheWhole) {
  const Report times = timesOf(generate(tinyDefault("avx2"), {}));
  EXPECT_THAT(times.names,
              ContainerEq(Names{"verify", "tokenizer", "map", "session", "prefill", "other"}));
  EXPECT_NEAR(times.sum(), times.whole, 0.4) << "seven numbers, rounded";
}

/// Packing is the compiler's alone, and a second start doesn't even load that.
TEST(FirstToken, ofASecondStartHasNoPackingInIt) {
  TempFolder cache;
  const Arguments start = {
      "LD_DEBUG=files", INFRUN_PATH,      tinyModel,   "--target=avx2",
      "--ids=1,2,3",    "--max-tokens=2", "--verbose", "--cache-dir=" + (cache / "models")};
  const Finished first = run("/usr/bin/env", start), second = run("/usr/bin/env", start);
  ASSERT_EQ(first.code, 0) << first.err;
  ASSERT_EQ(second.code, 0) << second.err;
  EXPECT_THAT(first.err, HasSubstr("calling init: " INF_COMPILER_PATH));
  EXPECT_THAT(second.err, Not(HasSubstr("calling init: " INF_COMPILER_PATH)));
  const Report times = timesOf(second);
  EXPECT_EQ(times.names.at(0), "compile") << "or rather finding it";
  EXPECT_LT(times.sum(), times.whole + 0.4);
  EXPECT_EQ(second.out, first.out);
}

TEST(DecodeThreads, areFoundAndNamedUnlessTheirNumberWasGiven) {
  const std::string model = tinyDefault("avx2");
  const Arguments plain = {model, "--ids=1,2,3", "--max-tokens=1000", "--ignore-eos",
                           "--print-ids"};
  Arguments chosen = plain, given = plain;
  chosen.push_back("--verbose");
  given.insert(given.end(), {"--verbose", "--threads=1"});
  const Finished free = infrun(chosen), fixed = infrun(given);
  ASSERT_EQ(free.code, 0) << free.err;
  EXPECT_THAT(fixed.err, HasSubstr("decoding on all threads: their number was given"));
  EXPECT_EQ(free.out, fixed.out);
  if (planThreads(SystemRoot{}, std::nullopt).threads >= 2) {
    EXPECT_TRUE(std::regex_search(
        free.err,
        std::regex("decoding on [0-9]+ of [0-9]+ threads: more were no faster|decoding on "
                   "all [0-9]+ threads: trials of [0-9]+ were lost [(][0-9.]+ ms against|decoding "
                   "on all [0-9]+ threads: [0-9]+ steps were too few")))
        << free.err;
  }
}
