#include <fmt/format.h>

#include "compiler/check/Parts.h"
#include "runtime/tokenizer/Tokenizer.h"
#include "runtime/tokenizer/Utf8.h"

namespace inf {

void checkTokenizer(ModelReport &report, const std::string &source, const std::string &json,
                    uint64_t vocabulary) {
  tryPart(report, "tokenizer", [&] {
    Tokenizer tokenizer = Tokenizer::fromJson(json);
    uint64_t ids = uint64_t(tokenizer.vocabularySize());
    if (vocabulary == 0) // the description can't be read
      return;
    if (ids > vocabulary)
      addProblem(report, "tokenizer",
                 fmt::format("{}: ids up to {}, the model's vocabulary has {} rows; use the "
                             "tokenizer.json this model was trained with",
                             source, ids - 1, vocabulary));
    if (ids < vocabulary)
      report.notes.push_back(
          fmt::format("vocabulary: {} of {} rows have no token", vocabulary - ids, vocabulary));
  });
}

void checkTemplate(ModelReport &report, const std::string &source, const std::string &text) {
  if (text.empty())
    addProblem(report, "chat template", source + ": empty, expected a template; remove the file");
  else if (size_t valid = validPrefix(text); valid != text.size())
    addProblem(report, "chat template",
               fmt::format("{}: not UTF-8 at byte {}; save it again as UTF-8", source, valid));
}

} // namespace inf
