// The name of a kernel. What parses is the one name of what it says.
#include "codegen/KernelSpec.h"
#include "tests/fuzz/Fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  using namespace inf;
  std::string_view name = test::textOf(data, size);
  if (auto spec = parseKernelSymbol(name))
    test::require(kernelSymbol(*spec) == name, "a name parses to a kernel of another name");
  return 0;
}
