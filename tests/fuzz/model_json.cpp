// A model.json. What is accepted can be written and read again, and has weights that make sense.
#include "compiler/frontends/ModelDesc.h"
#include "tests/fuzz/Fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  using namespace inf;
  std::string text(test::textOf(data, size));
  ModelDesc desc;
  if (!test::accepts([&] { desc = parseModelJson(text, "/models"); }))
    return 0;
  std::string written = writeModelJson(desc, "/models");
  test::require(writeModelJson(parseModelJson(written, "/models"), "/models") == written,
                "a written description reads as another");
  test::accepts([&] {
    for (const WeightDecl &decl : weightDecls(desc))
      test::require(!whyMalformed(decl), "a weight that makes no sense");
  });
  return 0;
}
