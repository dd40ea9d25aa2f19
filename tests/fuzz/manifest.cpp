// The manifest of a model.so. What is accepted can be written and read again.
#include "runtime/format/Manifest.h"
#include "tests/fuzz/Fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  using namespace inf;
  Manifest manifest;
  if (!test::accepts([&] { manifest = manifestFromJson(test::textOf(data, size)); }))
    return 0;
  std::string written = manifestToJson(manifest);
  test::require(manifestToJson(manifestFromJson(written)) == written,
                "a written manifest reads as another");
  return 0;
}
