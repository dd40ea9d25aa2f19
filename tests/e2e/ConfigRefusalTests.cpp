// Models that infc does not know, and descriptions that are none.
#include <gtest/gtest.h>

#include "tests/e2e/CheckpointCopy.h"

using namespace inf;
using namespace inf::test;
using Json = nlohmann::ordered_json;

namespace {

constexpr int badInput = 4, io = 5;

void expectConfigRefused(const std::function<void(Json &)> &edit,
                         const std::vector<std::string> &parts) {
  CheckpointCopy copy;
  copy.editJson("config.json", edit);
  copy.expectRefusal(badInput, parts);
}

} // namespace

TEST(ConfigRefusal, anUnknownArchitectureNamesTheKnownOnes) {
  expectConfigRefused([](Json &config) { config["model_type"] = "gpt_neox"; },
                      {"config.json", "model_type", "gpt_neox", "known", "gpt_oss"});
  expectConfigRefused([](Json &config) { config["architectures"] = {"GPTNeoXForCausalLM"}; },
                      {"architectures", "GPTNeoXForCausalLM", "known"});
}

TEST(ConfigRefusal, anUnknownRopeTypeNamesTheKnownOnes) {
  expectConfigRefused([](Json &config) { config["rope_scaling"]["rope_type"] = "mrope"; },
                      {"rope_scaling", "mrope", "default, linear, dynamic"});
}

TEST(ConfigRefusal, anUnknownActivationNamesTheKnownOnes) {
  expectConfigRefused([](Json &config) { config["hidden_act"] = "gelu"; },
                      {"hidden_act", "gelu", "silu"});
}

TEST(ConfigRefusal, anUnknownQuantizationNamesTheKnownOnes) {
  expectConfigRefused([](Json &config) { config["quantization_config"]["quant_method"] = "awq"; },
                      {"quant_method", "awq", "mxfp4"});
}

TEST(ConfigRefusal, aVocabularyBelowTheTokenizersIds) {
  expectConfigRefused([](Json &config) { config["vocab_size"] = 4093; }, {"4093"});
}

TEST(ConfigRefusal, aConfigThatIsNoJsonOrIsNotThere) {
  CheckpointCopy copy;
  copy.cutFile("config.json", 100);
  copy.expectRefusal(badInput, {"config.json"});
  std::filesystem::remove(copy.path("config.json"));
  copy.expectRefusal(io, {"config.json"});
}

TEST(ConfigRefusal, aModelThatIsNotThere) {
  const TempFolder folder;
  expectRefused(infc({"compile", folder / "none", "-q", "-o", folder / "out.so"}), io,
                {folder / "none"});
  expectRefused(infc({"compile", folder / "none.mlir", "-q", "-o", folder / "out.so"}), io,
                {folder / "none.mlir"});
}

TEST(ConfigRefusal, anUnknownTargetNamesTheKnownOnes) {
  CheckpointCopy copy;
  const TempFolder folder;
  expectRefused(infc({"compile", copy.path(), "-q", "--target=avx1024", "-o", folder / "out.so"}),
                2, {"avx1024", "avx512"});
}
