#include "runtime/tokenizer/PreTokenizer.h"

namespace inf {

std::string PreTokenizer::withoutSpaces(const MetaspaceStage &stage, std::string_view text,
                                        bool atStart) {
  std::string words;
  words.reserve(text.size() + text.size() / 2);
  bool begins = text.starts_with(stage.replacement) || text.front() == ' ';
  bool wanted =
      stage.prepend == PrependScheme::Always || (stage.prepend == PrependScheme::First && atStart);
  if (wanted && !begins)
    words += stage.replacement;
  for (char c : text)
    if (c == ' ')
      words += stage.replacement;
    else
      words += c;
  return words;
}

} // namespace inf
