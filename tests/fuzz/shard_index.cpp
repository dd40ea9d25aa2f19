// model.safetensors.index.json beside two shards that are fine.
#include "compiler/check/Check.h"
#include "runtime/format/Safetensors.h"
#include "tests/fuzz/Fuzz.h"

namespace {

/// A shard each with one tensor.
struct Shards {
  inf::test::Folder folder;
  Shards() {
    const uint8_t byte = 1;
    for (const char *name : {"a", "b"})
      inf::writeSafetensors(folder.path(std::string(name) + ".safetensors"),
                            {{name, inf::DType::U8, {1}, {&byte, 1}}});
  }
};

} // namespace

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  using namespace inf;
  static const Shards shards; // made once, removed at exit
  shards.folder.write("model.safetensors.index.json", test::textOf(data, size));
  bool opens = test::accepts([&] {
    auto checkpoint = Checkpoint::open(shards.folder.path());
    for (const TensorInfo *tensor : checkpoint->tensors())
      checkpoint->data(tensor->name);
  });
  // The report collects what opening stops at: it must not find less.
  ModelReport report = checkModel(shards.folder.path(), {});
  bool fine = true;
  for (const ModelProblem &problem : report.problems)
    fine &= problem.area != "shards";
  test::require(opens || !fine, "refused, but the report finds no problem");
  return 0;
}
