// Looking into a model: what its stages give, where two builds part, why it is as it is.
#include <cmath>
#include <cstring>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "runtime/loader/Model.h"
#include "runtime/trace/Diff.h"
#include "tests/e2e/Models.h"
#include "tests/e2e/Sessions.h"
#include "tests/runtime/format/TestSupport.h"

using namespace inf;
using namespace inf::test;
using testing::HasSubstr;
using testing::Not;

namespace {

const std::vector<int32_t> tokens = {491, 475, 258, 304, 11};
const std::string ids = "--ids=491,475,258,304,11";

Trace traceOf(const std::string &path, bool keep = false, unsigned threads = 1) {
  TraceOptions options;
  options.keepValues = keep;
  options.threads.threads = threads;
  return traceModel(Model::load(path), tokens, options);
}

const TracePoint &pointOf(const Trace &trace, int64_t layer, const std::string &name) {
  for (const TracePoint &point : trace.points)
    if (point.layer == layer && point.name == name)
      return point;
  throw std::runtime_error("no point " + name);
}

Trace madeOf(std::vector<TracePoint> points) {
  Trace trace;
  trace.tokens = tokens;
  trace.points = std::move(points);
  return trace;
}

TracePoint pointWith(const std::string &name, std::vector<float> values, uint64_t hash) {
  TracePoint point;
  point.name = name;
  point.type = "f32";
  point.layer = 0;
  point.rows = 1;
  point.width = values.size();
  point.values = std::move(values);
  point.hash = hash;
  return point;
}

/// A copy of a compiled model with one NaN at the start of an f32 weight: a checkpoint with one is
/// refused when it is compiled.
std::string withNan(const TempFolder &folder, const std::string &path, const std::string &name) {
  std::vector<uint8_t> bytes = readBytes(path);
  const PayloadInfo info = readPayloadInfo(path, INF_ABI_VERSION);
  bool found = false;
  for (const PackedWeight &weight : info.manifest.weights)
    if (weight.decl.name == name) {
      const float nan = std::numeric_limits<float>::quiet_NaN();
      EXPECT_EQ(weight.spec.format, WeightFormat::F32);
      std::memcpy(bytes.data() + info.fileOffset + info.header.weightsOffset + weight.offset, &nan,
                  sizeof nan);
      found = true;
    }
  EXPECT_TRUE(found) << name;
  const std::string damaged = folder / "nan.so";
  writeBytes(damaged, std::string(bytes.begin(), bytes.end()));
  return damaged;
}

} // namespace

TEST(Trace, theLastLayersOutputIsTheResidualStreamThatTheSessionTaps) {
  const std::string path = tinyExact("avx2");
  SessionSetup setup;
  setup.taps = true;
  auto session = openSession(path, setup);
  std::vector<RowRequest> rows;
  for (const int32_t token : tokens)
    rows.push_back({token, 0, INF_ROW_PROMPT, INF_OUTPUT_NONE});
  const StepResult step = session->step(rows);
  const Trace trace = traceOf(path, true);
  const auto layers = int64_t(session->model().code().layers);
  const TracePoint *last = nullptr; // of the last layer: the op that adds to the residual stream
  for (const TracePoint &point : trace.points)
    if (point.layer == layers - 1 && point.name.find('#') == std::string::npos)
      last = &point;
  ASSERT_TRUE(last);
  ASSERT_EQ(last->rows, tokens.size());
  for (uint32_t row = 0; row < tokens.size(); ++row)
    EXPECT_TRUE(sameBits(step.tap(uint32_t(layers), row),
                         std::span(last->values).subspan(row * last->width, last->width)));
}

TEST(Trace, theLogitsAreThoseOfTheLastToken) {
  const std::string path = tinyDefault("avx2");
  const AllLogits logits = soloLogits(path, tokens);
  const TracePoint &head = traceOf(path, true).points.back();
  ASSERT_EQ(head.rows, 1u);
  EXPECT_TRUE(sameBits(head.values, std::span(logits).last(head.width)));
}

TEST(Trace, everyStageOfEveryLayerIsThereAndThreadsChangeNothing) {
  const std::string path = tinyDefault("avx2");
  const Trace one = traceOf(path), three = traceOf(path, false, 3);
  ASSERT_EQ(one.points.size(), three.points.size());
  for (size_t i = 0; i < one.points.size(); ++i)
    EXPECT_EQ(one.points[i].hash, three.points[i].hash) << pointText(one.points[i]);
  const std::shared_ptr<const Model> model = Model::load(path);
  for (uint64_t layer = 0; layer < model->manifest().layers; ++layer)
    EXPECT_NO_THROW(
        pointOf(one, int64_t(layer), layer % 2 ? "full/attention" : "sliding/attention"));
}

TEST(Trace, aNanInAWeightIsFoundInTheOpThatReadsItFirst) {
  TempFolder folder;
  for (const std::string &sound : {tinyExact("avx2"), tinyDefault("avx2")}) {
    const std::string path = withNan(folder, sound, "layers.2.attention.o.bias");
    const Trace trace = traceOf(path);
    const TracePoint *first = trace.firstNotFinite();
    ASSERT_TRUE(first);
    EXPECT_EQ(pointText(*first), "layer 2, sliding/linear attention.o.weight");
    EXPECT_EQ(first->nans, tokens.size()) << "one output of each row";
    const Finished text = infrun({"trace", path, ids});
    EXPECT_THAT(text.out,
                HasSubstr("first NaN in layer 2, sliding/linear attention.o.weight: 5 NaN"));
    const auto json = nlohmann::json::parse(infrun({"trace", path, ids, "--json"}).out);
    EXPECT_EQ(json["first_not_finite"]["layer"], 2);
  }
}

TEST(Trace, aSoundModelIsSaidToBeFinite) {
  const Finished finished = infrun({"trace", tinyDefault("avx2"), "--prompt", "Once upon"});
  EXPECT_EQ(finished.code, 0) << finished.err;
  EXPECT_THAT(finished.out, HasSubstr("all values are finite\n"));
  EXPECT_THAT(finished.out, HasSubstr("lm_head"));
}

TEST(Trace, valuesBeyondTheirLimitAreRefused) {
  TraceOptions options;
  options.keepValues = true;
  options.mostBytes = 1000;
  EXPECT_THROW(traceModel(Model::load(tinyDefault("avx2")), tokens, options), Error);
}

TEST(Diff, identicalBuildsAreSaidToBeIdentical) {
  const std::string path = tinyDefault("avx2");
  const Finished finished = infc({"diff", path, path, ids});
  EXPECT_EQ(finished.code, 0) << finished.err;
  EXPECT_THAT(finished.out, HasSubstr("identical: "));
  EXPECT_THAT(finished.out, HasSubstr("5 tokens, to the bit"));
}

TEST(Diff, ofInt8AndInt4TheFirstProductIsNamed) {
  const std::string int8 = tinyDefault("avx2");
  const std::string int4 = tinyDefault("avx2", {"--quant=int4"});
  const Finished finished = infc({"diff", int8, int4, "--prompt", "Once upon a time"});
  EXPECT_EQ(finished.code, 0) << finished.err;
  EXPECT_THAT(finished.out, HasSubstr("first difference: layer 0, sliding/qkv"));
  EXPECT_THAT(finished.out, HasSubstr("first above 0.01: layer 0, "));
}

TEST(Diff, asJsonHasTheNumbersOfEveryPoint) {
  const std::string int8 = tinyDefault("avx2");
  const std::string int4 = tinyDefault("avx2", {"--quant=int4"});
  const Finished finished = infc({"diff", int8, int4, ids, "--json"});
  ASSERT_EQ(finished.code, 0) << finished.err;
  const auto json = nlohmann::json::parse(finished.out);
  EXPECT_EQ(json["tokens"].size(), 5u);
  EXPECT_NE(json["a"]["build_id"], json["b"]["build_id"]);
  const auto &first = json["points"][json["first_difference"].get<size_t>()];
  EXPECT_EQ(first["layer"], 0);
  EXPECT_EQ(first["name"], "sliding/qkv");
  EXPECT_GT(first["relative"].get<double>(), 0);
  EXPECT_NE(first["first"]["a"], first["first"]["b"]);
  EXPECT_LE(json["first_difference"], json["first_above"]);
  const auto same = nlohmann::json::parse(infc({"diff", int8, int8, ids, "--json"}).out);
  EXPECT_TRUE(same["first_difference"].is_null());
  for (const auto &point : same["points"])
    EXPECT_TRUE(point["same_bits"].get<bool>() && point["first"].is_null()) << point;
}

TEST(Diff, ofOneLayerQuantizedOtherwiseTheLayerIsNamed) {
  const std::string path = tinyDefault("avx2");
  const std::string other =
      tinyDefault("avx2", {"--quant=int8,layers.2.attention.o.weight=bf16", "--activations=q8"});
  Trace a = traceOf(path, true), b = traceOf(other, true);
  const TraceDiff diff = diffTraces(a, b, 1e-2);
  ASSERT_TRUE(diff.firstBits);
  const TracePoint &first = diff.points[*diff.firstBits].a;
  EXPECT_EQ(first.layer, 2) << pointText(first);
  EXPECT_GE(diff.points.size(), 10u) << "blocks of other names are matched";
}

TEST(Diff, namesWhereAndByHowMuch) {
  Trace a = madeOf({pointWith("x/one", {1, 2, 4}, 1), pointWith("x/two", {1, 1, 1}, 2)});
  Trace b = madeOf({pointWith("y/one", {1, 2.5, 3}, 3), pointWith("y/three", {0, 0, 0}, 4)});
  const TraceDiff diff = diffTraces(a, b, 0.5);
  ASSERT_EQ(diff.points.size(), 1u);
  const PointDifference &point = diff.points[0];
  EXPECT_EQ(point.different, 2u);
  EXPECT_EQ(point.column, 1u);
  EXPECT_EQ(point.largest, 1);
  EXPECT_EQ(point.relative, 0.25);
  EXPECT_EQ(diff.firstBits, 0u);
  EXPECT_EQ(diff.firstAbove, std::nullopt);
  EXPECT_THAT(diff.onlyInA, testing::ElementsAre("layer 0, x/two"));
  EXPECT_THAT(diff.onlyInB, testing::ElementsAre("layer 0, y/three"));
}

TEST(Diff, aNanOnOneSideIsInfinitelyFar) {
  Trace a = madeOf({pointWith("x/one", {NAN, 2}, 1)});
  Trace b = madeOf({pointWith("x/one", {1, 2}, 2)});
  EXPECT_EQ(diffTraces(a, b, 1e9).firstAbove, 0u);
}

TEST(Diff, otherShapesAreNoBuildsOfOneModel) {
  Trace a = madeOf({pointWith("x/one", {1, 2}, 1)});
  Trace b = madeOf({pointWith("x/one", {1}, 2)});
  EXPECT_THROW(diffTraces(a, b, 0), Error);
}

TEST(Explain, saysWhichRowsWereRejectedAndWhichRuleDecided) {
  const Finished finished =
      infc({"explain", tinyDefault("avx2", {"--quant=int8,*.attention.o.weight=int4"})});
  ASSERT_EQ(finished.code, 0) << finished.err;
  for (const char *part :
       {"inf_linear_mxfp4_q8_r3_bias_swigluclamped__avx2", "amx         no: target avx2 lacks ",
        "avx512vbmi  no: target avx2 lacks ",
        "avx2        taken: 3 rows: ", "inf_attention_bf16_d64_g4_b64_sinks_bf16dots__avx2",
        "mxfp4 (checkpoint: mxfp4): stored in blocks", "int8 (checkpoint: bf16): base int8",
        "int4 (checkpoint: bf16): rule *.attention.o.weight=int4",
        "f32 (checkpoint: bf16): vectors (norms, biases, sinks) are f32",
        "bf16 (checkpoint: bf16): embeddings and routers stay as stored"})
    EXPECT_THAT(finished.out, HasSubstr(part));
  EXPECT_THAT(finished.out, Not(HasSubstr("set in the IR"))) << "nothing was, merged weights too";
}

/// What explain says of a model for AMX whose attention is `shape`.
std::string explainedOnAmx(const std::string &shape) {
  const TempFolder folder;
  const std::string model = folder / "model.json";
  writeBytes(model, R"({
    "format": "inf-model", "version": 1, "name": "small", "architecture": "llama",
    "vocabulary": 64, "hidden": 64, "max_context": 64, "norm_eps": 1e-5, "tied_embeddings": true,
    "ropes": {"plain": {"type": "default", "theta": 10000}},
    "blocks": {"full": {
      "attention": {)" + shape +
                        R"(, "rope": "plain"},
      "mlp": {"intermediate": 96}}},
    "layers": {"repeat": 1, "pattern": ["full"]},
    "stored": "f32",
    "tensors": {
      "embedding.weight": "e",
      "layers.{layer}.attention.norm.weight": "an",
      "layers.{layer}.attention.q.weight": "q",
      "layers.{layer}.attention.k.weight": "k",
      "layers.{layer}.attention.v.weight": "v",
      "layers.{layer}.attention.o.weight": "o",
      "layers.{layer}.mlp.norm.weight": "mn",
      "layers.{layer}.mlp.gate_up.weight": ["g", "u"],
      "layers.{layer}.mlp.down.weight": "d",
      "final_norm.weight": "n"},
    "eos_tokens": [2]})");
  const Finished finished =
      infc({"explain", compiled(model, {"--target=amx", "--weights=random:1", "--no-tokenizer"})});
  EXPECT_EQ(finished.code, 0) << finished.err;
  return finished.out;
}

TEST(Explain, saysThatAnInstructionIsSlowHere) {
  // Heads that are no multiple of 32 dimensions have no kernel on tiles.
  const std::string out = explainedOnAmx(R"("heads": 4, "kv_heads": 1, "head_dim": 16)");
  for (const char *part :
       {"inf_attention_bf16_d16_g4_b64_bf16dots__avx512\n",
        "amx         no: head_dim is 16, expected a multiple of 32",
        "avx512bf16  no: target amx has amx_tile: one row's heads",
        "avx512      taken: one row's heads that share a kv head, pairs taken apart"})
    EXPECT_THAT(out, HasSubstr(part));
}

TEST(Explain, saysThatTooFewHeadsShareAKvHeadForTiles) {
  const std::string out = explainedOnAmx(R"("heads": 4, "kv_heads": 2, "head_dim": 32)");
  for (const char *part :
       {"inf_attention_bf16_d32_g2_b64_bf16dots__avx512\n",
        "amx         no: 2 heads share a kv head, and it is slow for fewer than 4"})
    EXPECT_THAT(out, HasSubstr(part));
}

TEST(Explain, saysThatAttentionRunsOnTiles) {
  const Finished finished = infc({"explain", tinyDefault("amx", {})});
  ASSERT_EQ(finished.code, 0) << finished.err;
  for (const char *part : {"inf_attention_bf16_d64_g4_b64_sinks_bf16dots_by32__amx\n",
                           "amx         taken: one row's heads that share a kv head, on tiles"})
    EXPECT_THAT(finished.out, HasSubstr(part));
}

TEST(Explain, ofAKernelChosenByHandSaysSo) {
  TempFolder folder;
  const std::string ir = folder / "model.mlir";
  ASSERT_EQ(infc({"compile", tinyModel, "--target=avx2", "-q", "--emit=mlir",
                  "--stop-after=verify-plan", "-o", ir})
                .code,
            0);
  std::vector<uint8_t> bytes = readBytes(ir);
  std::string text(bytes.begin(), bytes.end());
  const std::string taken = "inf_linear_bf16_f32_r2_bias__avx2";
  for (size_t at = 0; (at = text.find(taken, at)) != std::string::npos; ++at)
    text[at + std::string("inf_linear_bf16_f32_r").size()] = '1';
  writeBytes(ir, text);
  const Finished finished = infc({"explain", compiled(ir, {})});
  ASSERT_EQ(finished.code, 0) << finished.err;
  EXPECT_THAT(finished.out, HasSubstr("fits; 1 rows of avx2 were set in the IR instead"));
}
