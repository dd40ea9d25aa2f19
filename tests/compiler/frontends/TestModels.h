// Files and descriptions the frontend tests start from.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "compiler/frontends/ModelDesc.h"
#include "runtime/base/Error.h"

namespace inf::test {

/// A directory of its own, removed at the end.
class TempDir {
public:
  TempDir();
  ~TempDir();
  TempDir(const TempDir &) = delete;
  TempDir &operator=(const TempDir &) = delete;
  std::string path() const { return root; }
  std::string file(const std::string &name) const { return root + "/" + name; }
  void write(const std::string &name, const std::string &text) const;
  void copy(const std::string &from, const std::string &name) const;

private:
  std::string root;
};

/// The path of a file of this repository.
std::string inSource(const std::string &relative);

/// config.json as published for gpt-oss-20b.
nlohmann::json publishedConfig();
nlohmann::json publishedGenerationConfig();
/// The same with dimensions of a few units, so that a checkpoint of it is small.
nlohmann::json smallConfig();

/// A dense model of one kind of layer: the other branch than gpt-oss's.
ModelDesc denseModel();

/// Writes model.safetensors with a zero tensor for each one the declarations read. `retype` may
/// change the storage of a tensor.
using Retype = std::function<DType(const std::string &name, DType stored)>;
void writeZeroCheckpoint(const TempDir &directory, const std::vector<WeightDecl> &decls,
                         const Retype &retype = nullptr);

/// Runs `action`, expects an Error of `code` and returns its message ("" after a test failure).
std::string errorOf(ErrorCode code, const std::function<void()> &action);
inline std::string badInput(const std::function<void()> &action) {
  return errorOf(ErrorCode::BadInput, action);
}

} // namespace inf::test
