#include <cstring>
#include <set>

#include <nlohmann/json.hpp>

#include "runtime/base/Error.h"
#include "runtime/format/Checked.h"
#include "runtime/format/FileOutput.h"
#include "runtime/format/Safetensors.h"

namespace inf {
namespace {

void checkTensor(const std::string &path, const TensorToWrite &tensor) {
  if (tensor.name == "__metadata__")
    fail(ErrorCode::BadInput, "{}: a tensor named __metadata__, expected another name", path);
  uint64_t bytes = dtypeBytes(tensor.dtype);
  for (uint64_t dimension : tensor.shape)
    bytes = checkedMultiply(bytes, dimension, tensor.name);
  if (bytes != tensor.bytes.size())
    fail(ErrorCode::BadInput, "{}: tensor '{}' has {} bytes, expected {} for its shape and dtype",
         path, tensor.name, tensor.bytes.size(), bytes);
}

std::string headerFor(const std::string &path, const std::vector<TensorToWrite> &tensors) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  std::set<std::string> names;
  uint64_t offset = 0;
  for (const TensorToWrite &tensor : tensors) {
    checkTensor(path, tensor);
    if (!names.insert(tensor.name).second)
      fail(ErrorCode::BadInput, "{}: tensor '{}' twice, expected once", path, tensor.name);
    const uint64_t end = checkedAdd(offset, tensor.bytes.size(), tensor.name);
    header[tensor.name] = {{"dtype", dtypeName(tensor.dtype)},
                           {"shape", tensor.shape},
                           {"data_offsets", {offset, end}}};
    offset = end;
  }
  try {
    return header.dump();
  } catch (const nlohmann::json::exception &error) { // a name that is not UTF-8
    fail(ErrorCode::BadInput, "{}: expected tensor names in UTF-8, found: {}", path, error.what());
  }
}

} // namespace

void writeSafetensors(const std::string &path, const std::vector<TensorToWrite> &tensors) {
  std::string header = headerFor(path, tensors);
  header.resize((header.size() + 7) / 8 * 8, ' '); // the data starts aligned to 8
  const uint64_t headerBytes = header.size();
  uint64_t total = sizeof(headerBytes) + headerBytes;
  for (const TensorToWrite &tensor : tensors)
    total += tensor.bytes.size();
  AtomicFile file(path, total);
  file.append({reinterpret_cast<const uint8_t *>(&headerBytes), sizeof(headerBytes)});
  file.append({reinterpret_cast<const uint8_t *>(header.data()), header.size()});
  for (const TensorToWrite &tensor : tensors)
    file.append(tensor.bytes);
  file.commit();
}

} // namespace inf
