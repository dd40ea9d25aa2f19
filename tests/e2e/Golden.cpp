#include "tests/e2e/Golden.h"

#include <cstring>

#include <fmt/format.h>

#include "runtime/base/Error.h"
#include "tests/e2e/Models.h"

namespace inf::test {
namespace {

template <typename T> std::vector<T> valuesOf(std::span<const uint8_t> bytes) {
  std::vector<T> values(bytes.size() / sizeof(T));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
  return values;
}

} // namespace

Golden::Golden(const std::string &path) : file(SafetensorsFile::open(path)) {}

const TensorInfo &Golden::tensor(const std::string &name) const {
  const TensorInfo *found = file.find(name);
  if (!found)
    fail(ErrorCode::BadInput, "{} has no {}", file.path(), name);
  return *found;
}

size_t Golden::prompts() const {
  size_t count = 0;
  while (file.find(fmt::format("prompt{}.ids", count)))
    ++count;
  return count;
}

Matrix Golden::matrix(const std::string &name) const {
  const TensorInfo &found = tensor(name);
  return {found.shape.at(0), found.shape.at(1), valuesOf<float>(file.data(found))};
}

std::vector<int32_t> Golden::ids(const std::string &name) const {
  return valuesOf<int32_t>(file.data(tensor(name)));
}

GoldenPrompt Golden::prompt(size_t index) const {
  const std::string prefix = fmt::format("prompt{}.", index);
  GoldenPrompt prompt;
  prompt.ids = ids(prefix + "ids");
  prompt.logits = matrix(prefix + "logits");
  if (file.find(prefix + "greedy")) {
    prompt.greedy = ids(prefix + "greedy");
    prompt.margin = valuesOf<float>(file.data(tensor(prefix + "greedy_margin")));
  }
  return prompt;
}

std::vector<int32_t> heldoutIds(size_t count) {
  std::vector<int32_t> ids = Golden(sharedFile("golden/golden.safetensors")).ids("heldout.ids");
  if (count > ids.size())
    fail(ErrorCode::Internal, "{} held-out ids asked for, there are {}", count, ids.size());
  ids.resize(count);
  return ids;
}

} // namespace inf::test
