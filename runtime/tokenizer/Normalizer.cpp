#include "runtime/tokenizer/Normalizer.h"

#include "runtime/base/Error.h"
#include "runtime/tokenizer/Utf8.h"

namespace inf {
namespace {

void checkLength(size_t size, size_t limit) {
  if (size > limit)
    fail(ErrorCode::TooLong,
         "the normalizer makes a text of more than {} bytes, which is the most; split the text",
         limit);
}

/// One part that the pattern may look at.
void replaceIn(const TextPattern &pattern, std::string_view content, std::string_view part,
               size_t limit, SplitPattern::Scratch &scratch, std::string &out) {
  pattern.forEach(part, scratch, [&](size_t begin, size_t end, bool isMatch) {
    out += isMatch ? content : part.substr(begin, end - begin);
    checkLength(out.size(), limit);
  });
}

std::string trimmed(const TrimStep &step, std::string_view text) {
  if (step.left)
    text.remove_prefix(whiteSpacePrefix(text));
  if (step.right)
    text.remove_suffix(whiteSpaceSuffix(text));
  return std::string(text);
}

} // namespace

std::string replaceAll(const TextPattern &pattern, std::string_view content, std::string_view text,
                       size_t limit, SplitPattern::Scratch &scratch) {
  std::string out;
  out.reserve(text.size() + text.size() / 2);
  if (!pattern.needsUtf8()) {
    replaceIn(pattern, content, text, limit, scratch, out);
    return out;
  }
  while (!text.empty()) {
    size_t valid = validPrefix(text);
    replaceIn(pattern, content, text.substr(0, valid), limit, scratch, out);
    text.remove_prefix(valid);
    size_t invalid = invalidPrefix(text);
    out += text.substr(0, invalid);
    text.remove_prefix(invalid);
  }
  return out;
}

std::string Normalizer::run(std::string_view text, size_t limit,
                            SplitPattern::Scratch &scratch) const {
  std::string now(text);
  for (const Step &step : steps) {
    if (const auto *prepend = std::get_if<PrependStep>(&step))
      now = now.empty() ? now : prepend->text + now;
    else if (const auto *replace = std::get_if<ReplaceStep>(&step))
      now = replaceAll(replace->pattern, replace->content, now, limit, scratch);
    else if (const auto *trim = std::get_if<TrimStep>(&step))
      now = trimmed(*trim, now);
    else
      now = toForm(std::get<UnicodeForm>(step), now);
    checkLength(now.size(), limit);
  }
  return now;
}

} // namespace inf
