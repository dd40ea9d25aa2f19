#include "compiler/check/Check.h"

#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "compiler/check/Parts.h"
#include "compiler/frontends/ChatTemplate.h"
#include "compiler/frontends/gguf/Gguf.h"
#include "runtime/base/Error.h"
#include "runtime/format/FileInput.h"

namespace inf {
namespace {

namespace fs = std::filesystem;

/// Far above any tokenizer known (27 MB), far below what would hurt.
constexpr uint64_t largestText = uint64_t{256} << 20;

bool isThere(const fs::path &path) {
  std::error_code error;
  return fs::exists(path, error);
}

std::optional<std::string> readText(ModelReport &report, const std::string &area,
                                    const std::string &path) {
  std::string text;
  if (!tryPart(report, area, [&] { text = readWholeFile(path, largestText); }))
    return std::nullopt;
  return text;
}

/// The description, with every problem that reading it met.
std::optional<ModelDesc> checkDescription(ModelReport &report) {
  std::vector<std::string> collected;
  std::optional<ModelDesc> desc;
  std::optional<std::string> last;
  try {
    desc = readModel(report.path, &collected);
  } catch (const Error &error) {
    last = error.what();
  }
  if (last)
    collected.push_back(*last);
  std::set<std::string> said; // a key is read once for each kind of layer
  for (const std::string &text : collected)
    if (said.insert(text).second)
      addProblem(report, "description", text);
  return desc;
}

/// Tensors against the description, then their values.
void checkWeights(ModelReport &report, const ModelDesc &desc, const CheckOptions &options) {
  std::vector<WeightDecl> decls;
  if (!tryPart(report, "description", [&] { decls = weightDecls(desc); }))
    return;
  report.weights = decls.size();
  if (desc.weightsDirectory.empty())
    return report.notes.push_back("the description names no checkpoint: no weights looked at");
  if (desc.weightsDirectory.ends_with(".gguf")) {
    std::unique_ptr<WeightSource> source;
    if (tryPart(report, "tensors", [&] { source = openGgufWeights(desc.weightsDirectory, decls); }))
      checkValues(report, decls, *source, options);
    return;
  }
  std::unique_ptr<Checkpoint> checkpoint;
  try {
    checkpoint = Checkpoint::open(desc.weightsDirectory);
  } catch (const Error &) { // checkShards says why, and more
    return report.notes.push_back("tensors and values were not looked at: the files come first");
  }
  if (tryPart(report, "tensors", [&] { checkCheckpoint(decls, *checkpoint); }))
    checkValues(report, decls, *checkpoint, options);
  else
    report.notes.push_back("values were not looked at: the tensors come first");
}

void checkTexts(ModelReport &report, const std::string &tokenizerPath,
                const std::string &templatePath, uint64_t vocabulary) {
  if (tokenizerPath.empty())
    report.notes.push_back("no tokenizer is named: such a model takes token ids only");
  else if (auto json = readText(report, "tokenizer", tokenizerPath))
    checkTokenizer(report, tokenizerPath, *json, vocabulary);
  if (templatePath.empty())
    report.notes.push_back("no chat template");
  else if (auto text = readText(report, "chat template", templatePath))
    tryPart(report, "chat template",
            [&] { checkTemplate(report, templatePath, chatTemplateText(templatePath, *text)); });
}

/// The files of a directory are known without its description; a model.json names them.
void checkDirectoryOrJson(ModelReport &report, const CheckOptions &options) {
  std::optional<ModelDesc> desc = checkDescription(report);
  fs::path path(report.path);
  bool directory = fs::is_directory(path);
  std::string weights = directory ? report.path : desc ? desc->weightsDirectory : "";
  if (!weights.empty() && !weights.ends_with(".gguf"))
    checkShards(report, weights);
  if (desc)
    checkWeights(report, *desc, options);
  else
    report.notes.push_back("tensors and values were not looked at: the description comes first");
  if (directory) {
    std::string chatTemplate;
    tryPart(report, "chat template", [&] { chatTemplate = findChatTemplate(path.string()); });
    checkTexts(report, (path / "tokenizer.json").string(), chatTemplate,
               desc ? desc->vocabulary : 0);
  } else if (desc) {
    checkTexts(report, desc->tokenizerPath, desc->chatTemplatePath, desc->vocabulary);
  }
}

void checkGguf(ModelReport &report, const CheckOptions &options) {
  GgufModel model;
  if (!tryPart(report, "description", [&] { model = readGguf(report.path, {.tokenizer = false}); }))
    return report.notes.push_back("values and tokenizer were not looked at: the file comes first");
  std::vector<WeightDecl> decls = weightDecls(model.desc);
  report.weights = decls.size();
  checkValues(report, decls, *model.weights, options);
  GgufModel whole;
  if (!tryPart(report, "tokenizer", [&] { whole = readGguf(report.path); }))
    return;
  report.notes.insert(report.notes.end(), whole.notes.begin(), whole.notes.end());
  if (whole.tokenizerJson.empty())
    report.notes.push_back("no tokenizer: such a model takes token ids only");
  else
    checkTokenizer(report, report.path, whole.tokenizerJson, model.desc.vocabulary);
  if (whole.chatTemplate.empty())
    report.notes.push_back("no chat template");
  else
    checkTemplate(report, report.path, whole.chatTemplate);
}

} // namespace

bool tryPart(ModelReport &report, const std::string &area, const std::function<void()> &action) {
  try {
    action();
    return true;
  } catch (const Error &error) {
    addProblem(report, area, error.what());
    return false;
  }
}

ModelReport checkModel(const std::string &path, const CheckOptions &options) {
  if (!isThere(path))
    fail(ErrorCode::Io,
         "{}: no such file or directory; expected a checkpoint directory, a .gguf or a model.json",
         path);
  ModelReport report;
  report.path = path;
  if (path.ends_with(".gguf"))
    checkGguf(report, options);
  else
    checkDirectoryOrJson(report, options);
  return report;
}

std::string reportText(const ModelReport &report) {
  std::string text = fmt::format("{}: {}\n", report.path,
                                 report.problems.empty() ? "no problems"
                                 : report.problems.size() == 1
                                     ? "1 problem"
                                     : fmt::format("{} problems", report.problems.size()));
  for (const ModelProblem &problem : report.problems)
    text += fmt::format("  {}: {}\n", problem.area, problem.text);
  for (const std::string &note : report.notes)
    text += fmt::format("  note: {}\n", note);
  text += fmt::format("  {} weights, {} values looked at\n", report.weights, report.valuesChecked);
  return text;
}

std::string reportJson(const ModelReport &report) {
  nlohmann::json problems = nlohmann::json::array();
  for (const ModelProblem &problem : report.problems)
    problems.push_back({{"area", problem.area}, {"text", problem.text}});
  nlohmann::json json = {{"model", report.path},
                         {"problems", problems},
                         {"notes", report.notes},
                         {"weights", report.weights},
                         {"values_checked", report.valuesChecked}};
  // Names of a broken file may be no UTF-8.
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

} // namespace inf
