// A GGUF file: container, description, tokenizer; of what is accepted, every weight is read.
#include "compiler/frontends/gguf/Gguf.h"
#include "runtime/tokenizer/Tokenizer.h"
#include "tests/fuzz/Fuzz.h"

namespace {

/// The first and last row of every weight and expert.
void readEdges(const std::vector<inf::WeightDecl> &decls, const inf::WeightSource &source) {
  std::vector<float> row;
  for (const inf::WeightDecl &decl : decls)
    for (uint64_t expert : {uint64_t{0}, decl.experts - 1})
      for (uint64_t first : {uint64_t{0}, decl.rows - 1}) {
        row.resize(decl.columns);
        inf::test::accepts([&] { inf::readRowsF32(decl, source, expert, first, 1, row.data()); });
      }
}

} // namespace

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  using namespace inf;
  test::MemoryFile file(data, size);
  test::accepts([&] {
    GgufModel model = readGguf(file.path(), {.tokenizer = false});
    readEdges(weightDecls(model.desc), *model.weights);
  });
  test::accepts([&] {
    GgufModel model = readGguf(file.path());
    if (!model.tokenizerJson.empty())
      Tokenizer::fromJson(model.tokenizerJson);
  });
  return 0;
}
