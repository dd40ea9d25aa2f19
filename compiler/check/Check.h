// Everything that is wrong with a model, at once and without compiling it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace inf {

struct ModelProblem {
  std::string area; ///< "description", "shards", "tensors", "values", "tokenizer", "chat template"
  std::string text; ///< a sentence that names file and place; lists may have lines of their own
};

struct ModelReport {
  std::string path;
  std::vector<ModelProblem> problems;
  std::vector<std::string> notes; ///< what was not looked at, and why; what is unusual but fine
  uint64_t weights = 0;           ///< logical weights of the description
  uint64_t valuesChecked = 0;     ///< weight values that were looked at
};

struct CheckOptions {
  bool values = true;   ///< look at every value: reads the whole checkpoint
  unsigned threads = 1; ///< that look at values; the report does not depend on it
  std::function<void(uint64_t done, uint64_t total)> progress; ///< values; on the caller's thread
};

/// Looks at a checkpoint directory, a model.json or a .gguf file. Each part is looked at on its
/// own, so one problem hides no other but those that depend on it (without a description nothing
/// is known about tensors). Fails only with Io, when there is nothing at `path`.
ModelReport checkModel(const std::string &path, const CheckOptions &options);

std::string reportText(const ModelReport &report); ///< ends with a newline
std::string reportJson(const ModelReport &report);

} // namespace inf
