// The parts of checkModel(). Each adds what it finds to the report.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "compiler/check/Check.h"
#include "compiler/frontends/ModelDesc.h"
#include "runtime/format/WeightSource.h"

namespace inf {

inline void addProblem(ModelReport &report, const std::string &area, const std::string &text) {
  report.problems.push_back({area, text});
}

/// Runs `action`; an Error becomes a problem. Returns whether there was none.
bool tryPart(ModelReport &report, const std::string &area, const std::function<void()> &action);

/// A directory's safetensors files and their index: every file that is missing or damaged, every
/// tensor that is not where the index says, is in two files, or isn't in the index.
void checkShards(ModelReport &report, const std::filesystem::path &directory);

/// A tokenizer.json: that it can be read and has no more ids than the vocabulary.
void checkTokenizer(ModelReport &report, const std::string &source, const std::string &json,
                    uint64_t vocabulary);
/// A chat template: text, not empty, UTF-8.
void checkTemplate(ModelReport &report, const std::string &source, const std::string &text);

/// Every value of every weight: NaN and infinities, also those of scales, by tensor and index; the
/// first of each weight.
void checkValues(ModelReport &report, const std::vector<WeightDecl> &decls,
                 const WeightSource &source, const CheckOptions &options);

} // namespace inf
