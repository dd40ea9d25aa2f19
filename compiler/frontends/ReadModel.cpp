#include <filesystem>

#include "compiler/frontends/ModelDesc.h"
#include "runtime/base/Error.h"

namespace inf {

ModelDesc readModel(const std::string &path, std::vector<std::string> *problems) {
  std::error_code error;
  auto status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status))
    fail(ErrorCode::Io,
         "{}: no such file or directory; expected a model.json or a checkpoint "
         "directory",
         path);
  if (std::filesystem::is_directory(status))
    return importHuggingFace(path, problems);
  std::string extension = std::filesystem::path(path).extension().string();
  if (extension == ".safetensors")
    fail(ErrorCode::BadInput,
         "{}: {} files are not read directly; give a model.json or the directory of a checkpoint "
         "with its config.json",
         path, extension);
  return readModelJson(path, problems);
}

} // namespace inf
