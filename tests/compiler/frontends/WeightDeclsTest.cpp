// weightDecls(): which weights there are, in which order, read from which tensors.
#include <gmock/gmock.h>

#include "tests/compiler/frontends/TestModels.h"

namespace inf::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::vector<std::string> namesOf(const std::vector<WeightDecl> &decls) {
  std::vector<std::string> names;
  for (const WeightDecl &decl : decls)
    names.push_back(decl.name);
  return names;
}

const WeightDecl &declOf(const std::vector<WeightDecl> &decls, const std::string &name) {
  for (const WeightDecl &decl : decls)
    if (decl.name == name)
      return decl;
  throw std::runtime_error("no declaration " + name);
}

TEST(WeightDecls, followTheOrderOfAStep) {
  ModelDesc desc = denseModel();
  desc.layers = {"layer"};
  EXPECT_THAT(namesOf(weightDecls(desc)),
              testing::ElementsAre("embedding.weight", "layers.0.attention.norm.weight",
                                   "layers.0.attention.q.weight", "layers.0.attention.k.weight",
                                   "layers.0.attention.v.weight", "layers.0.attention.o.weight",
                                   "layers.0.mlp.norm.weight", "layers.0.mlp.gate_up.weight",
                                   "layers.0.mlp.down.weight", "final_norm.weight",
                                   "lm_head.weight"));
}

TEST(WeightDecls, readATiedHeadFromTheEmbedding) {
  auto decls = weightDecls(denseModel());
  EXPECT_EQ(declOf(decls, "lm_head.weight").parts, declOf(decls, "embedding.weight").parts);
}

TEST(WeightDecls, shareTheRowsOfGateAndUpEqually) {
  WeightDecl gateUp = declOf(weightDecls(denseModel()), "layers.2.mlp.gate_up.weight");
  ASSERT_EQ(gateUp.parts.size(), 2u);
  EXPECT_EQ(gateUp.rows, 96u);
  EXPECT_EQ(gateUp.parts[0].rows, 48u);
  EXPECT_EQ(gateUp.parts[1].rows, 48u);
  EXPECT_EQ(gateUp.parts[1].tensor, "2.up");
}

TEST(WeightDecls, preferARuleForOneLayer) {
  ModelDesc desc = denseModel();
  desc.tensors["layers.1.attention.q.weight"].parts = {
      {"special.{layer}", "", WeightFormat::F16, 0, true, false}};
  auto decls = weightDecls(desc);
  EXPECT_EQ(declOf(decls, "layers.1.attention.q.weight").parts[0].tensor, "special.1");
  EXPECT_EQ(declOf(decls, "layers.2.attention.q.weight").parts[0].tensor, "2.q");
}

WeightPart plainPart(const std::string &tensor) {
  WeightPart part;
  part.tensor = tensor;
  return part;
}

std::string refusal(const std::function<void(ModelDesc &)> &change) {
  ModelDesc desc = denseModel();
  change(desc);
  return badInput([&] { weightDecls(desc); });
}

TEST(WeightDecls, refuseAWeightWithoutARuleByName) {
  EXPECT_THAT(refusal([](ModelDesc &d) { d.tensors.erase("layers.{layer}.attention.k.weight"); }),
              AllOf(HasSubstr("1 weights have no rule"), HasSubstr("attention.k.weight")));
}

TEST(WeightDecls, refuseARuleForNoWeightAndSuggestTheNearest) {
  EXPECT_THAT(refusal([](ModelDesc &d) {
                d.tensors["layers.{layer}.attention.w.weight"].parts = {plainPart("x")};
              }),
              AllOf(HasSubstr("1 rules in \"tensors\" name no weight"),
                    HasSubstr("\"layers.{layer}.attention.w.weight\" (did you mean")));
  EXPECT_THAT(refusal([](ModelDesc &d) { d.tensors["lm_head.weight"].parts = {plainPart("x")}; }),
              HasSubstr("lm_head.weight"));
}

TEST(WeightDecls, refuseRowsThatDoNotAddUp) {
  auto withRows = [](uint64_t first, uint64_t second) {
    return refusal([&](ModelDesc &d) {
      auto &parts = d.tensors["layers.{layer}.mlp.gate_up.weight"].parts;
      parts[0].rows = first;
      parts[1].rows = second;
    });
  };
  EXPECT_THAT(withRows(48, 47), HasSubstr("rows"));
  EXPECT_THAT(withRows(48, 49), HasSubstr("rows"));
  EXPECT_THAT(withRows(96, 0), HasSubstr("rows"));
  EXPECT_THAT(withRows(UINT64_MAX, 2), HasSubstr("rows"));
}

TEST(WeightDecls, refuseMxfp4ColumnsThatAreNoWholeBlocksNamingTheTensor) {
  EXPECT_THAT(refusal([](ModelDesc &d) {
                d.blocks["layer"].mlp->intermediate = 40;
                d.tensors["layers.{layer}.mlp.down.weight"].parts = {
                    {"{layer}.blocks", "{layer}.scales", WeightFormat::MXFP4, 0, false, false}};
              }),
              AllOf(HasSubstr("layers.0.mlp.down.weight"), HasSubstr("{layer}.blocks"),
                    HasSubstr("multiples of 32, found 40")));
}

TEST(WeightDecls, refuseStorageThatTheShapeDoesNotAllow) {
  EXPECT_THAT(
      refusal([](ModelDesc &d) { d.tensors["final_norm.weight"].parts[0].transposed = true; }),
      HasSubstr("a vector cannot be transposed"));
  EXPECT_THAT(refusal([](ModelDesc &d) {
                d.tensors["layers.{layer}.attention.q.weight"].parts[0].interleaved = true;
              }),
              HasSubstr("only a gate_up weight of one part can be interleaved"));
  EXPECT_THAT(refusal([](ModelDesc &d) {
                d.tensors["final_norm.weight"].parts[0].stored = WeightFormat::INT8;
              }),
              HasSubstr("a vector cannot be stored as int8"));
  EXPECT_THAT(refusal([](ModelDesc &d) {
                WeightPart &part = d.tensors["layers.{layer}.attention.q.weight"].parts[0];
                part.stored = WeightFormat::INT4, part.transposed = true;
              }),
              HasSubstr("int4 blocks cannot be transposed"));
  EXPECT_THAT(refusal([](ModelDesc &d) {
                d.tensors["embedding.weight"].parts[0].tensor = "embed.{layer}";
              }),
              HasSubstr("names a layer"));
  EXPECT_THAT(refusal([](ModelDesc &d) {
                d.tensors["layers.{layer}.mlp.down.weight"].parts[0].tensor = "{layer}.{expert}";
              }),
              HasSubstr("names an expert, but the weight has none"));
}

} // namespace
} // namespace inf::test
