// config.json of a checkpoint directory; after a zero byte, generation_config.json.
#include "compiler/frontends/ModelDesc.h"
#include "tests/fuzz/Fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  using namespace inf;
  static const test::Folder folder;
  std::string_view text = test::textOf(data, size);
  size_t end = text.find('\0');
  folder.write("config.json", text.substr(0, end));
  folder.write("generation_config.json",
               end == std::string_view::npos ? "{}" : text.substr(end + 1));
  bool imports = test::accepts([&] { weightDecls(importHuggingFace(folder.path())); });
  std::vector<std::string> problems;
  bool collected = test::accepts([&] { weightDecls(readModel(folder.path(), &problems)); });
  test::require(imports == collected, "collecting problems changes what is refused");
  return 0;
}
