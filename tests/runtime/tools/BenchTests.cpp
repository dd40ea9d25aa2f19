#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/runtime/session/FakeModel.h"
#include "tests/runtime/session/fake_model.h"
#include "tests/runtime/tools/Process.h"

using namespace inf::test;
using testing::AllOf;
using testing::HasSubstr;
using Json = nlohmann::json;

namespace {

/// Runs of `infrun bench` on a fake model whose manifest may be changed.
class BenchCommand : public testing::Test {
protected:
  Finished bench(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"bench", model()});
    return infrun(arguments);
  }

  Json json(std::vector<std::string> arguments) {
    arguments.push_back("--json");
    const Finished finished = bench(std::move(arguments));
    EXPECT_EQ(finished.code, 0) << finished.err;
    return Json::parse(finished.out);
  }

  std::string model() {
    const std::string path = directory.file("m.so");
    writeFakeModel(path, fake);
    return path;
  }

  TempDirectory directory;
  FakeOptions fake;
};

} // namespace

TEST_F(BenchCommand, jsonHasARunForEachEntryOfTheListsAndTheSameHashesEveryTime) {
  const std::vector<std::string> arguments = {"-p",        "100,20",  "-n",       "5",  "--context",
                                              "0,70",      "--batch", "1,3",      "-r", "2",
                                              "--threads", "2",       "--no-roof"};
  const Json a = json(arguments), b = json(arguments);
  EXPECT_EQ(a["threads"], 2);
  EXPECT_EQ(a["repeat"], 2);
  EXPECT_GT(a["load"]["verify_ms"], 0);
  EXPECT_GT(a["load"]["map_ms"], 0);
  EXPECT_EQ(a["model"], "fake");
  EXPECT_EQ(a["build_id"], "99aabbccddeeff001122334455667788");
  ASSERT_EQ(a["runs"].size(), 6u);
  std::vector<std::string> kinds;
  for (const Json &run : a["runs"]) {
    kinds.push_back(run["kind"]);
    EXPECT_GT(run["tok_s"].get<double>(), 0);
    EXPECT_GT(run["gb_s"].get<double>(), 0);
    EXPECT_EQ(run["seconds"].size(), 2u);
    EXPECT_TRUE(run["bandwidth_fraction"].is_null()) << "there is no roof";
  }
  EXPECT_THAT(kinds,
              testing::ElementsAre("prefill", "prefill", "decode", "decode", "decode", "decode"));
  EXPECT_EQ(a["runs"][1]["tokens"], 20);
  EXPECT_EQ(a["runs"][3]["batch"], 3);
  EXPECT_EQ(a["runs"][4]["context"], 72) << "with the two tokens of the run that isn't counted";
  for (size_t i = 0; i < a["runs"].size(); ++i)
    EXPECT_EQ(a["runs"][i]["logits_hash"], b["runs"][i]["logits_hash"]) << i;
}

TEST_F(BenchCommand, theRoofOfTheSameRunGivesEverySpeedAShare) {
  const Json result = json({"-p", "64", "-n", "4", "-r", "1", "--threads", "1"});
  const Json &roof = result["roof"];
  EXPECT_EQ(roof["samples"], 4) << "before and after each of two runs";
  double best = 0;
  EXPECT_EQ(roof["bandwidth_by_loop"].size(), 5u);
  for (const char *loop :
       {"anonymous", "anonymous_pages", "mapped", "mapped_prefetch", "mapped_pages"})
    best = std::max(best, roof["bandwidth_by_loop"][loop].get<double>());
  EXPECT_EQ(roof["bandwidth_gb_s"].get<double>(), best);
  EXPECT_GT(roof["int8_top_s"].get<double>(), 0);
  EXPECT_GT(roof["f32_tflop_s"].get<double>(), 0);
  EXPECT_EQ(roof["bf16_tflop_s"].get<double>() > 0, roof["bf16_loop"] != "none");
  const std::string products = result["compute_roof"];
  const double mostTop = roof[products + (products == "int8" ? "_top_s" : "_tflop_s")];
  for (const Json &run : result["runs"]) {
    // Each run is held against the samples around it, and none of them is above the best.
    EXPECT_GE(run["bandwidth_fraction"].get<double>(), run["gb_s"].get<double>() / best - 1e-9);
    EXPECT_GE(run["compute_fraction"].get<double>(), run["top_s"].get<double>() / mostTop - 1e-9);
  }
}

TEST_F(BenchCommand, integerKernelsAreHeldAgainstTheIntegerPeak) {
  EXPECT_EQ(json({"-p", "1", "-n", "0", "-r", "1", "--no-roof"})["compute_roof"], "f32");
  fake.change = [](inf::PayloadContents &contents) {
    contents.manifest.kernels.push_back({"inf_linear_mxfp4_q8_r1__avx512vnni", 1, {}});
  };
  EXPECT_EQ(json({"-p", "1", "-n", "0", "-r", "1", "--no-roof"})["compute_roof"], "int8");
}

TEST_F(BenchCommand, kernelsForBf16RowsAreHeldAgainstThePeakOfTheirInstruction) {
  std::string symbol;
  fake.change = [&](inf::PayloadContents &contents) {
    contents.manifest.kernels.push_back({symbol, 1, {}});
  };
  for (const auto &[name, roof] : {std::pair{"inf_linear_bf16_bf16_r6__avx512bf16", "bf16"},
                                   {"inf_linear_bf16_bf16_r16_by32_bias__amx", "bf16"},
                                   {"inf_linear_bf16_bf16_r6__avx512", "f32"},
                                   {"inf_linear_bf16_f32_r8__avx512", "f32"}}) {
    symbol = name;
    EXPECT_EQ(json({"-p", "1", "-n", "0", "-r", "1", "--no-roof"})["compute_roof"], roof) << name;
  }
}

TEST_F(BenchCommand, stagesAreCountedByTheBarriersOfAStep) {
  const Json result =
      json({"-p", "2", "-n", "3", "--batch", "2", "-r", "1", "--no-roof", "--stages"});
  ASSERT_EQ(result["stages"].size(), 6u) << "two runs of a step with two barriers: three stages";
  double share = 0;
  for (const Json &stage : result["stages"]) {
    EXPECT_GT(stage["ms"].get<double>(), 0);
    EXPECT_EQ(stage["calls_per_token"], 0.5) << "a step of two rows";
    share += stage["share"].get<double>();
  }
  EXPECT_NEAR(share, 2, 1e-9);
  EXPECT_EQ(result["stages"][4]["name"], "stage 1");
}

TEST_F(BenchCommand, theSweepTriesEveryCountAndNamesTheKnee) {
  const Json result = json({"-p", "1", "-n", "2", "-r", "1", "--no-roof", "--threads", "sweep"});
  ASSERT_GE(result["sweep"].size(), 1u);
  unsigned expected = 0;
  bool found = false;
  for (const Json &entry : result["sweep"]) {
    EXPECT_EQ(entry["runs"].size(), 2u);
    EXPECT_GT(entry["threads"].get<unsigned>(), expected);
    expected = entry["threads"].get<unsigned>();
    found = found || entry["threads"] == result["knee"];
  }
  EXPECT_TRUE(found);
  EXPECT_EQ(result["threads"], result["knee"]);
}

TEST_F(BenchCommand, textNamesUnitsTheRoofAndTheReasonForTheThreads) {
  const Finished result = bench({"-p", "10", "-n", "0", "-r", "1"});
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("tok/s"), HasSubstr("GB/s"), HasSubstr("of roof"),
                                HasSubstr("TOP/s"), HasSubstr("threads"),
                                HasSubstr("fit into the cache"), HasSubstr("around each run")));
  EXPECT_THAT(bench({"-p", "10", "-n", "0", "-r", "1", "--no-roof"}).out,
              Not(HasSubstr("around each run")));
}

TEST_F(BenchCommand, moreThanTheContextExitsSix) {
  EXPECT_EQ(bench({"-p", "4097"}).code, 6);
  EXPECT_EQ(bench({"-p", "1", "-n", "4097"}).code, 6);
  EXPECT_EQ(bench({"-p", "1", "-n", "18446744073709551615"}).code, 6);
  EXPECT_EQ(bench({"-p", "1", "-n", "1000", "--context", "1100", "-r", "3"}).code, 6)
      << "the runs go on from each other";
}

TEST_F(BenchCommand, whatCannotBeMeasuredExitsTwo) {
  for (const std::vector<std::string> &arguments :
       std::vector<std::vector<std::string>>{{"-p", "1,"},
                                             {"-p", "1,-2"},
                                             {"-p", ""},
                                             {"--context", "many"},
                                             {"--batch", "0"},
                                             {"--batch", "17"},
                                             {"--threads", "0"},
                                             {"--threads", "all"}})
    EXPECT_EQ(bench(arguments).code, 2) << testing::PrintToString(arguments);
}
