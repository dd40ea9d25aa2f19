#include "compiler/driver/Reference.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "codegen/Target.h"
#include "compiler/driver/Input.h"
#include "compiler/driver/ModelFacts.h"
#include "compiler/driver/PackedValues.h"
#include "compiler/driver/Stages.h"
#include "ir/reference/Interpreter.h"
#include "runtime/format/Safetensors.h"

namespace inf {
namespace {

/// The passes behind it keep what the model means.
constexpr char roundedStage[] = "quantize-activations";

void checkTokens(const std::vector<int32_t> &tokens, ir::ModelOp model) {
  if (tokens.empty())
    fail(ErrorCode::Usage, "no tokens to evaluate; give --ids 1,2,3");
  for (int32_t token : tokens)
    if (token < 0 || token >= int64_t(model.getVocabulary()))
      fail(ErrorCode::Usage, "token {} is outside the vocabulary 0..{}", token,
           int64_t(model.getVocabulary()) - 1);
}

void write(const std::string &path, const ir::ReferenceTensor &logits) {
  auto bytes = reinterpret_cast<const uint8_t *>(logits.values.data());
  writeSafetensors(path, {{"line0.logits",
                           DType::F32,
                           {uint64_t(logits.rows), uint64_t(logits.width)},
                           {bytes, logits.values.size() * sizeof(float)}}});
}

void compare(const std::string &path, const ir::ReferenceTensor &logits, ReferenceReport &report) {
  SafetensorsFile file = SafetensorsFile::open(path);
  const TensorInfo *tensor = file.find("line0.logits");
  std::vector<uint64_t> shape{uint64_t(logits.rows), uint64_t(logits.width)};
  if (!tensor || tensor->dtype != DType::F32 || tensor->shape != shape)
    fail(ErrorCode::BadInput,
         "{}: expected line0.logits, F32 [{}]; write it with `infrun score --logits` from the same "
         "tokens",
         path, fmt::join(shape, ", "));
  std::vector<float> other(logits.values.size());
  std::memcpy(other.data(), file.data(*tensor).data(), tensor->bytes);
  double largest = 0;
  for (size_t i = 0; i < other.size(); ++i) {
    report.finite &= std::isfinite(other[i]);
    largest = std::max(largest, std::abs(double(other[i]) - logits.values[i]));
  }
  report.largestDifference = largest;
}

} // namespace

ReferenceReport runReferenceModel(const ReferenceOptions &options) {
  CompileContext context;
  LoadedModel input = loadModel(context, options.model);
  runStages(context, *input.module, options.model, targetByName(options.model.target),
            options.model.stopAfter.empty() ? roundedStage : options.model.stopAfter);
  ir::ModelOp model = theModel(*input.module);
  checkTokens(options.tokens, model);
  std::vector<WeightDecl> decls = weightDeclsOf(model);
  std::unique_ptr<WeightSource> source = openWeights(options.model, input, decls);
  if (!source)
    fail(ErrorCode::Usage, "the reference needs weights; --weights=none has none");
  PackedValues reader(*source, model);
  std::vector<int64_t> outputs(options.tokens.size());
  std::iota(outputs.begin(), outputs.end(), 0);
  ir::ReferenceResult result = ir::runReference(model, reader, options.tokens, outputs);

  ReferenceReport report;
  const ir::ReferenceTensor &logits = result.logits;
  report.values = logits.values.size();
  for (float value : logits.values)
    report.finite &= std::isfinite(value);
  const float *last = logits.row(logits.rows - 1);
  report.lastArgmax = int32_t(std::max_element(last, last + logits.width) - last);
  if (!options.logitsPath.empty())
    write(options.logitsPath, logits);
  if (!options.comparePath.empty())
    compare(options.comparePath, logits, report);
  return report;
}

} // namespace inf
