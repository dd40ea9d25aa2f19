// validate(): each wrong dimension or name is refused at its place.
#include <gmock/gmock.h>

#include "tests/compiler/frontends/TestModels.h"

namespace inf::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

using Change = std::function<void(ModelDesc &)>;

std::string refusal(const Change &change) {
  ModelDesc desc = denseModel();
  change(desc);
  return badInput([&] { validate(desc); });
}

BlockDesc &block(ModelDesc &desc) { return desc.blocks["layer"]; }

MoeDesc someMoe() {
  MoeDesc moe;
  moe.experts = 8;
  moe.topK = 2;
  moe.intermediate = 32;
  return moe;
}

TEST(Validate, acceptsTheDenseModel) { EXPECT_NO_THROW(validate(denseModel())); }

TEST(Validate, refusesHeadsThatKvHeadsDoNotDivide) {
  EXPECT_THAT(
      refusal([](ModelDesc &d) { block(d).attention.kvHeads = 3; }),
      HasSubstr("blocks.layer.attention.heads: expected a multiple of kv_heads (3), found 4"));
}

TEST(Validate, refusesALayerOfUnknownBlockAndSuggestsTheNearest) {
  EXPECT_THAT(refusal([](ModelDesc &d) { d.layers[1] = "layre"; }),
              AllOf(HasSubstr("layers[1]: unknown block \"layre\""), HasSubstr("mean \"layer\"")));
}

TEST(Validate, refusesAnUnknownRope) {
  EXPECT_THAT(refusal([](ModelDesc &d) { block(d).attention.rope = "planar"; }),
              AllOf(HasSubstr("unknown rope \"planar\""), HasSubstr("plain")));
}

TEST(Validate, refusesAnUnknownRopeType) {
  EXPECT_THAT(refusal([](ModelDesc &d) { d.ropes["plain"].type = "mrope"; }),
              HasSubstr("unknown rope type \"mrope\"; known: default, linear, dynamic"));
}

TEST(Validate, refusesAnUnknownActivation) {
  EXPECT_THAT(refusal([](ModelDesc &d) { block(d).mlp->activation.type = "gelu"; }),
              HasSubstr("unknown activation \"gelu\"; known: swiglu, swiglu_clamped"));
}

TEST(Validate, refusesZeroAndHugeDimensionsByName) {
  EXPECT_THAT(refusal([](ModelDesc &d) { d.hidden = 0; }), HasSubstr("hidden: expected 1 to"));
  EXPECT_THAT(refusal([](ModelDesc &d) { d.vocabulary = uint64_t{1} << 31; }),
              HasSubstr("vocabulary: expected 1 to 2147483647, found 2147483648"));
  EXPECT_THAT(refusal([](ModelDesc &d) { d.maxContext = UINT64_MAX; }), HasSubstr("max_context"));
  EXPECT_THAT(refusal([](ModelDesc &d) { block(d).attention.kvHeads = 0; }), HasSubstr("kv_heads"));
  EXPECT_THAT(refusal([](ModelDesc &d) { block(d).mlp->intermediate = 0; }),
              HasSubstr("blocks.layer.mlp.intermediate"));
}

TEST(Validate, refusesAProductThatOverflows) {
  EXPECT_THAT(refusal([](ModelDesc &d) {
                d.hidden = block(d).attention.heads = block(d).attention.kvHeads = 1u << 30;
                block(d).attention.headDim = 1u << 30;
              }),
              AllOf(HasSubstr("attention.q.weight"), HasSubstr("check the dimensions")));
}

TEST(Validate, refusesASumOverLayersThatOverflows) {
  EXPECT_THAT(refusal([](ModelDesc &d) {
                d.hidden = block(d).mlp->intermediate = 1u << 29;
                d.layers.assign(1024, "layer");
              }),
              HasSubstr("makes the model larger than"));
}

TEST(Validate, refusesHeadsThatAreNoWholeVectors) {
  EXPECT_THAT(refusal([](ModelDesc &d) { block(d).attention.headDim = 12; }),
              HasSubstr("head_dim: expected a multiple of 8"));
}

TEST(Validate, refusesMoreChosenExpertsThanThereAre) {
  EXPECT_THAT(refusal([](ModelDesc &d) {
                block(d).mlp.reset();
                block(d).moe = someMoe();
                block(d).moe->topK = 9;
              }),
              HasSubstr("blocks.layer.moe.top_k: expected 1 to 8 (experts), found 9"));
}

TEST(Validate, refusesARouterOverOneExpert) {
  EXPECT_THAT(refusal([](ModelDesc &d) {
                block(d).mlp.reset();
                block(d).moe = someMoe();
                block(d).moe->experts = 1;
              }),
              HasSubstr("blocks.layer.moe.experts: expected 2 or more, found 1"));
}

TEST(Validate, refusesBothOrNeitherOfMlpAndMoe) {
  EXPECT_THAT(refusal([](ModelDesc &d) { block(d).moe = someMoe(); }), HasSubstr("found both"));
  EXPECT_THAT(refusal([](ModelDesc &d) { block(d).mlp.reset(); }), HasSubstr("found neither"));
}

TEST(Validate, refusesNoLayersAndTooMany) {
  EXPECT_THAT(refusal([](ModelDesc &d) { d.layers.clear(); }), HasSubstr("layers: expected 1 to"));
  EXPECT_THAT(refusal([](ModelDesc &d) { d.layers.assign(5000, "layer"); }), HasSubstr("5000"));
}

TEST(Validate, refusesTokensOutsideOfTheVocabulary) {
  EXPECT_THAT(refusal([](ModelDesc &d) { d.eosTokens = {50}; }),
              HasSubstr("eos_tokens[0]: expected a token of the vocabulary (0 to 49), found 50"));
  EXPECT_THAT(refusal([](ModelDesc &d) { d.bosToken = -2; }), HasSubstr("bos_token"));
}

TEST(Validate, refusesYarnNumbersThatGiveNoAngles) {
  auto yarn = [](ModelDesc &d) -> RopeDesc & {
    RopeDesc &rope = d.ropes["plain"];
    rope.type = "yarn";
    rope.theta = 150000;
    rope.factor = 32;
    rope.originalContext = 4096;
    return rope;
  };
  EXPECT_THAT(refusal([&](ModelDesc &d) { yarn(d).theta = 1; }), HasSubstr("theta"));
  EXPECT_THAT(refusal([&](ModelDesc &d) { yarn(d).factor = 0.5; }), HasSubstr("factor"));
  EXPECT_THAT(refusal([&](ModelDesc &d) { yarn(d).betaFast = 1; }), HasSubstr("above beta_slow"));
  EXPECT_THAT(refusal([&](ModelDesc &d) { yarn(d).originalContext = 0; }),
              HasSubstr("original_context"));
  EXPECT_THAT(refusal([&](ModelDesc &d) { yarn(d).attentionFactor = -1; }),
              HasSubstr("attention_factor"));
}

TEST(Validate, refusesLlama3NumbersThatGiveNoAngles) {
  auto llama3 = [](ModelDesc &d) -> RopeDesc & {
    RopeDesc &rope = d.ropes["plain"];
    rope.type = "llama3";
    rope.factor = 8;
    rope.originalContext = 8192;
    return rope;
  };
  EXPECT_THAT(refusal([&](ModelDesc &d) { llama3(d).factor = 0; }), HasSubstr("factor"));
  EXPECT_THAT(refusal([&](ModelDesc &d) { llama3(d).highFrequencyFactor = 1; }),
              HasSubstr("above low_frequency_factor (1)"));
  EXPECT_THAT(refusal([&](ModelDesc &d) { llama3(d).originalContext = 0; }),
              HasSubstr("original_context"));
}

TEST(Validate, refusesDynamicRopeBeyondItsOriginalContext) {
  EXPECT_THAT(refusal([](ModelDesc &d) {
                RopeDesc &rope = d.ropes["plain"];
                rope.type = "dynamic";
                rope.factor = 2;
                rope.originalContext = double(d.maxContext) - 1;
              }),
              HasSubstr("lower max_context, or use yarn"));
}

TEST(Validate, refusesFactorsOfAnotherCountOrThatAreNotPositive) {
  auto longRope = [](ModelDesc &d) -> RopeDesc & {
    RopeDesc &rope = d.ropes["plain"];
    rope.type = "longrope";
    rope.factor = 2;
    rope.originalContext = 16;
    rope.shortFactors.assign(block(d).attention.headDim / 2, 1.0);
    rope.longFactors = rope.shortFactors;
    return rope;
  };
  EXPECT_THAT(refusal([&](ModelDesc &d) { longRope(d).longFactors.pop_back(); }),
              HasSubstr("ropes.plain.long_factors: expected"));
  EXPECT_THAT(refusal([&](ModelDesc &d) { longRope(d).shortFactors[1] = 0; }),
              HasSubstr("ropes.plain.short_factors"));
  EXPECT_THAT(refusal([&](ModelDesc &d) { longRope(d).originalContext = 1; }),
              HasSubstr("expected 2 or more"));
}

} // namespace
} // namespace inf::test
