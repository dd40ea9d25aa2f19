// infrun score: how well a model predicts a text.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "runtime/base/Error.h"
#include "runtime/session/LogLikelihood.h"
#include "runtime/tools/Commands.h"
#include "runtime/tools/LogitsFile.h"
#include "runtime/tools/ModelOptions.h"
#include "runtime/tools/TokenInput.h"

namespace inf {
namespace {

constexpr std::string_view help =
    R"(Usage: infrun score MODEL.so (--text FILE | --ids FILE.jsonl) [options]
Perplexity: exp of the mean negative log likelihood of each token given those
before it; the first token of a sequence is not counted.
  --text FILE        raw text (no chat template), one sequence; "-" reads stdin
  --ids FILE.jsonl   one sequence a line: {"ids": [1, 2, 3]}
  --logits OUT       write lineN.logits, f32 [tokens, vocabulary] (safetensors)
  --json             print one JSON object
  --threads N        default: physical cores allowed by affinity and quota
  --load MODE        map, copy or auto, as `infrun` has it
  --numa MODE        auto, off or report, as `infrun` has it
  --verbose          say which threads run and why
  --help             print this
Example: infrun score model.so --text book.txt --json
)";

struct ScoreOptions {
  ModelOptions model;
  std::optional<std::string> text, ids, logits;
  bool json = false;
};

struct Score {
  double sum = 0; ///< nats
  uint64_t tokens = 0, sequences = 0;
  double seconds = 0;

  double mean() const { return sum / static_cast<double>(tokens); }
};

std::vector<IdLine> readSequences(const ScoreOptions &options, const Model &model) {
  if (options.ids)
    return readIdLines(*options.ids);
  std::string text = readText(*options.text);
  return {{0, model.requireTokenizer().encode(text, SpecialTokens::AsText, TextEnds::Begun)}};
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

std::string scoreText(const Score &score, bool json, std::string_view label) {
  if (!json)
    return fmt::format(
        "perplexity {:.6f} ({}; mean NLL {:.6f} nats over {} tokens in {} sequences; "
        "{:.2f} s)\n",
        std::exp(score.mean()), label, score.mean(), score.tokens, score.sequences, score.seconds);
  nlohmann::ordered_json object = {
      {"perplexity", std::exp(score.mean())}, {"nll", score.mean()},      {"tokens", score.tokens},
      {"sequences", score.sequences},         {"seconds", score.seconds}, {"input", label}};
  return object.dump(2) + "\n";
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

} // namespace

int scoreCommand(Arguments arguments, Output &out) {
  CLI::App app("", "infrun score");
  ScoreOptions options;
  addModelOptions(app, options.model);
  addLoadOption(app, options.model);
  app.add_option("--text", options.text);
  app.add_option("--ids", options.ids);
  app.add_option("--logits", options.logits);
  app.add_flag("--json", options.json);
  if (!parseArguments(app, help, std::move(arguments), out))
    return 0;
  if (options.text.has_value() == options.ids.has_value())
    fail(ErrorCode::Usage,
         "expected one of --text and --ids, got {}. `infrun score --help` has an example.",
         options.text ? "both" : "none");

  ThreadPlan plan = chooseThreads(options.model.threads, options.model.verbose);
  std::shared_ptr<const Model> model = loadModel(options.model, plan);
  std::vector<IdLine> lines = readSequences(options, *model);
  uint64_t longest = longestSequence(lines, *model);
  std::optional<LogitsFile> file = makeLogitsFile(options, lines, *model);
  std::unique_ptr<Session> session = makeSession(model, longest, plan);
  Score score = scoreAll(*session, lines, file ? &*file : nullptr);
  if (file)
    file->commit();
  out.write(scoreText(score, options.json, options.text ? "raw text" : "token ids"));
  return 0;
}

} // namespace inf
