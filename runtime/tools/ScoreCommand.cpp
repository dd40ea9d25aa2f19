// infrun score: how well a model predicts a text.
#include <algorithm>
#include <chrono>
#include <optional>

#include "runtime/base/Error.h"
#include "runtime/session/LogLikelihood.h"
#include "runtime/tools/Commands.h"
#include "runtime/tools/LogitsFile.h"
#include "runtime/tools/ModelOptions.h"
#include "runtime/tools/TokenInput.h"
#include "runtime/tools/score/CompareModels.h"

namespace inf {
namespace {

constexpr std::string_view help =
    R"(Usage: infrun score MODEL (--text FILE | --ids FILE.jsonl) [options]
Perplexity: exp of the mean negative log likelihood of each token given those
before it; the first token of a sequence is not counted. MODEL as for infrun.
  --text FILE        raw text (no chat template), one sequence; "-" reads stdin
  --raw              <|end|> and the like are special tokens in the text
  --ids FILE.jsonl   one sequence a line: {"ids": [1, 2, 3]}
  --against REF      what MODEL loses against REF: mean KL(REF || MODEL) of a
                     token, and how often both find the same token likeliest;
                     a REF to compile is compiled with nothing rounded
  --logits OUT       write lineN.logits, f32 [tokens, vocabulary] (safetensors)
  --json             print one JSON object
  --threads N        default: physical cores allowed by affinity and quota
  --load MODE        map, copy or auto, as `infrun` has it
  --numa MODE        auto, off or report, as `infrun` has it
  --target --quant --activations --kv --weights   as infc compile has them;
  --no-cache --cache-dir --cache-limit --compiler  for MODELs to compile only
  --verbose          say which threads run and why
  --help             print this
Example: infrun score int4.so --against exact.so --text book.txt
)";

struct ScoreOptions {
  ModelOptions model;
  std::optional<std::string> text, ids, logits, against;
  bool json = false, raw = false;

  std::string_view input() const {
    return ids ? "token ids" : raw ? "text with special tokens" : "raw text";
  }
};

std::vector<IdLine> readSequences(const ScoreOptions &options, const Model &model) {
  if (options.ids)
    return readIdLines(*options.ids);
  const Tokenizer &tokenizer = model.requireTokenizer();
  return {{0, promptTokens(tokenizer, readText(*options.text), options.raw)}};
}

/// The context needed; refuses what the model can't hold before anything is computed.
uint64_t longestSequence(const std::vector<IdLine> &lines, const Model &model) {
  uint64_t longest = 0, counted = 0;
  for (const IdLine &line : lines) {
    longest = std::max<uint64_t>(longest, line.ids.size());
    counted += line.ids.empty() ? 0 : line.ids.size() - 1;
    if (line.ids.size() > model.code().max_context)
      fail(ErrorCode::TooLong,
           "sequence {} has {} tokens, this model holds at most {}. Split it into several lines.",
           line.line, line.ids.size(), model.code().max_context);
  }
  if (counted == 0)
    fail(ErrorCode::BadInput, "nothing to score: expected a sequence of at least 2 tokens.");
  return longest;
}

void scoreLine(Session &session, const IdLine &line, LogitsFile *file, Score &score) {
  session.reset(0);
  PrefillOptions options;
  options.eachLogits = [&](uint64_t index, std::span<const float> logits) {
    if (index + 1 < line.ids.size()) {
      score.sum += negativeLogLikelihood(logits, line.ids[index + 1]);
      ++score.tokens;
    }
    if (file)
      file->append(logits);
  };
  session.prefill(0, line.ids, options);
  ++score.sequences;
}

Score scoreAll(Session &session, const std::vector<IdLine> &lines, LogitsFile *file) {
  using Clock = std::chrono::steady_clock;
  Score score;
  Clock::time_point start = Clock::now();
  for (const IdLine &line : lines)
    scoreLine(session, line, file, score);
  score.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  return score;
}

std::optional<LogitsFile> makeLogitsFile(const ScoreOptions &options,
                                         const std::vector<IdLine> &lines, const Model &model) {
  if (!options.logits)
    return std::nullopt;
  std::vector<LogitsFile::Line> shapes;
  for (const IdLine &line : lines)
    shapes.push_back({line.line, line.ids.size()});
  return std::optional<LogitsFile>(std::in_place, *options.logits, shapes, model.code().vocabulary);
}

/// The model to compare with. One to compile shares the flags of a compile but those that round.
ModelOptions referenceOptions(const ScoreOptions &options) {
  ModelOptions reference = options.model;
  reference.path = *options.against;
  if (!isModelSource(reference.path)) {
    reference.compile = {};
    return reference;
  }
  reference.compile.source.quant = "none";
  reference.compile.source.activations = "f32";
  reference.compile.source.kv = "f32";
  return reference;
}

Comparison compareAll(Session &session, Session &reference, const std::vector<IdLine> &lines,
                      LogitsFile *file) {
  ModelComparer::EachLogits each;
  if (file)
    each = [file](std::span<const float> logits) { file->append(logits); };
  ModelComparer comparer(session, reference, each);
  for (const IdLine &line : lines)
    comparer.add(line.ids);
  return comparer.result();
}

void addOptions(CLI::App &app, ScoreOptions &options) {
  addModelOptions(app, options.model);
  addLoadOption(app, options.model);
  addCompileFlags(app, options.model.compile);
  app.add_option("--text", options.text);
  app.add_flag("--raw", options.raw);
  app.add_option("--ids", options.ids);
  app.add_option("--against", options.against);
  app.add_option("--logits", options.logits);
  app.add_flag("--json", options.json);
}

void checkOptions(const ScoreOptions &options) {
  if (options.text.has_value() == options.ids.has_value())
    fail(ErrorCode::Usage,
         "expected one of --text and --ids, got {}. `infrun score --help` has an example.",
         options.text ? "both" : "none");
  if (options.raw && options.ids)
    fail(ErrorCode::Usage, "--raw is about the text of --text, not about --ids. Leave it out.");
}

/// The reference when there is one, and then both know the same tokens.
std::shared_ptr<const Model> loadReference(const ScoreOptions &options, const Model &model,
                                           const ThreadPlan &plan) {
  if (!options.against)
    return nullptr;
  std::shared_ptr<const Model> reference = loadModel(referenceOptions(options), plan);
  requireSameVocabulary(model, *reference);
  return reference;
}

std::string scored(const ScoreOptions &options, std::shared_ptr<const Model> model,
                   std::shared_ptr<const Model> reference, const ThreadPlan &plan) {
  const std::vector<IdLine> lines = readSequences(options, *model);
  uint64_t longest = longestSequence(lines, *model);
  if (reference)
    longest = longestSequence(lines, *reference);
  std::optional<LogitsFile> file = makeLogitsFile(options, lines, *model);
  LogitsFile *logits = file ? &*file : nullptr;
  const std::unique_ptr<Session> session = makeSession(std::move(model), longest, plan);
  std::string text;
  if (reference) {
    const std::unique_ptr<Session> other = makeSession(std::move(reference), longest, plan);
    const Comparison result = compareAll(*session, *other, lines, logits);
    text =
        (options.json ? comparisonJson : comparisonText)(result, options.input(), *options.against);
  } else {
    text =
        (options.json ? scoreJson : scoreText)(scoreAll(*session, lines, logits), options.input());
  }
  if (file)
    file->commit();
  return text;
}

} // namespace

int scoreCommand(Arguments arguments, Output &out) {
  CLI::App app("", "infrun score");
  ScoreOptions options;
  addOptions(app, options);
  if (!parseArguments(app, help, std::move(arguments), out))
    return 0;
  checkOptions(options);
  const ThreadPlan plan = chooseThreads(options.model.threads, options.model.verbose);
  std::shared_ptr<const Model> model = loadModel(options.model, plan);
  std::shared_ptr<const Model> reference = loadReference(options, *model, plan);
  out.write(scored(options, std::move(model), std::move(reference), plan));
  return 0;
}

} // namespace inf
