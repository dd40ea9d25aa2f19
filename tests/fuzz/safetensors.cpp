// A safetensors file. What is accepted has every tensor inside the file, and each can be read.
#include "runtime/format/Safetensors.h"
#include "tests/fuzz/Fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  using namespace inf;
  test::MemoryFile file(data, size);
  test::accepts([&] {
    SafetensorsFile opened = SafetensorsFile::open(file.path());
    uint64_t sum = 0, bytes = 0;
    for (const TensorInfo &tensor : opened.tensors()) {
      for (uint8_t byte : opened.data(tensor))
        sum += byte;
      bytes += tensor.bytes;
      test::require(opened.find(tensor.name) == &tensor, "a tensor isn't found by its name");
    }
    test::require(bytes <= size && sum <= 255 * bytes, "tensors larger than their file");
  });
  return 0;
}
