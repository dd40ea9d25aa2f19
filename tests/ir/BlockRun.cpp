#include "tests/ir/BlockRun.h"

#include <algorithm>

#include "mlir/Parser/Parser.h"
#include <fmt/format.h>

#include "compiler/driver/Context.h"
#include "ir/reference/Evaluate.h"

namespace inf::test {
namespace {

class GivenWeights : public ir::WeightReader {
public:
  explicit GivenWeights(const std::map<std::string, BlockWeight> &givenWeights)
      : given(givenWeights) {}

  void readRows(ir::WeightOp weight, int64_t expert, int64_t firstRow, int64_t count,
                float *out) override {
    ir::WeightType type = weight.getType();
    int64_t first = (expert * type.getRows() + firstRow) * type.getColumns();
    std::copy_n(given.at(weight.getSymName().str()).values.begin() + first,
                count * type.getColumns(), out);
  }

private:
  const std::map<std::string, BlockWeight> &given;
};

int64_t rowsOf(const BlockWeight &weight) {
  std::vector<int64_t> dims;
  for (size_t at = 0; at != std::string::npos; at = weight.shape.find(',', at + 1))
    dims.push_back(std::stoll(weight.shape.substr(at == 0 ? 0 : at + 1)));
  return dims.size() == 3 ? dims[1] : dims[0];
}

/// A model of that block and of a step that does not call it.
std::string moduleText(const BlockRun &run) {
  std::string weights, arguments;
  for (const auto &[name, weight] : run.weights) {
    std::string format =
        weight.format.empty() ? "" : fmt::format(" {{format = #inf.format<{}>}}", weight.format);
    weights += fmt::format("inf.weight @{0} : !inf.weight<[{1}]> from "
                           "[#inf.part<tensor = \"{0}\", stored = f32, rows = {2}>]{3}\n",
                           name, weight.shape, rowsOf(weight), format);
    arguments +=
        fmt::format(", %{0}: !inf.weight<[{1}]> {{inf.slot = \"{0}\"}}", name, weight.shape);
  }
  return fmt::format(R"(
inf.model @m attributes {{architecture = "a", vocabulary = 1 : i64, hidden = {0} : i64,
                         max_context = 64 : i64, eos_tokens = array<i64>}} {{
  {1}
  inf.weight @table : !inf.weight<[1, {0}]> from [#inf.part<tensor = "t", stored = f32, rows = 1>]
  {2}
  inf.block @block(%x: tensor<?x{0}xf32>{3}) -> tensor<?x{0}xf32> {{
    {4}
    inf.yield %x : tensor<?x{0}xf32>
  }}
  inf.step {{
  ^bb0(%tokens: tensor<?xi32>):
    %w = inf.use @table : <[1, {0}]>
    %e = inf.embedding %tokens, %w : (tensor<?xi32>, !inf.weight<[1, {0}]>) -> tensor<?x{0}xf32>
    %o = inf.output_rows %e : tensor<?x{0}xf32>
    %l = inf.lm_head %o, %w : (tensor<?x{0}xf32>, !inf.weight<[1, {0}]>) -> tensor<?x1xf32>
    inf.yield %o, %l : tensor<?x{0}xf32>, tensor<?x1xf32>
  }}
}})",
                     run.features, run.symbols, weights, arguments, run.body);
}

ir::ReferenceTensor tensorOf(const std::vector<std::vector<float>> &rows, int64_t features) {
  auto tensor = ir::ReferenceTensor::zeros(int64_t(rows.size()), features);
  for (size_t r = 0; r < rows.size(); ++r)
    std::copy(rows[r].begin(), rows[r].end(), tensor.row(int64_t(r))); // the rest stays 0
  return tensor;
}

} // namespace

std::vector<ir::ReferenceTensor> BlockRun::run(const std::vector<std::vector<float>> &rows) const {
  CompileContext context;
  auto module = mlir::parseSourceString<mlir::ModuleOp>(moduleText(*this), &context.mlir());
  if (!module)
    context.failWithDiagnostics(ErrorCode::BadInput, "parsing the block failed");
  ir::ModelOp model = theModel(*module);
  GivenWeights reader(weights);
  std::vector<int32_t> noTokens;
  std::vector<int64_t> noOutputs;
  ir::EvaluationContext evaluation(model, reader, noTokens, noOutputs);
  auto block = model.lookupSymbol<ir::BlockOp>("block");
  evaluation.set(block.getArgument(0), tensorOf(rows, features));
  for (unsigned i = 1; i < block.getNumArguments(); ++i)
    evaluation.weights[block.getArgument(i)] = model.lookupSymbol<ir::WeightOp>(block.slotName(i));
  std::vector<ir::ReferenceTensor> results;
  for (mlir::Operation &op : block.getBody().front().without_terminator()) {
    ir::evaluate(evaluation, &op);
    results.clear();
    for (mlir::Value result : op.getResults())
      results.push_back(evaluation.at(result));
  }
  return results;
}

std::vector<float> BlockRun::values(const std::vector<std::vector<float>> &rows) const {
  return run(rows).front().values;
}

} // namespace inf::test
