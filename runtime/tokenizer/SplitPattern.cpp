#include "runtime/tokenizer/SplitPattern.h"

#include <algorithm>
#include <limits>
#include <new>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "runtime/base/Error.h"
#include "runtime/tokenizer/Quote.h"

namespace inf {
namespace {

// White_Space of the Unicode Character Database (PropList.txt), and everything else.
constexpr std::string_view spaceSet =
    R"(\x{9}-\x{d}\x{20}\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000})";
constexpr std::string_view otherSet =
    R"(\x{0}-\x{8}\x{e}-\x{1f}\x{21}-\x{84}\x{86}-\x{9f}\x{a1}-\x{167f}\x{1681}-\x{1fff})"
    R"(\x{200b}-\x{2027}\x{202a}-\x{202e}\x{2030}-\x{205e}\x{2060}-\x{2fff}\x{3001}-\x{10ffff})";

// A runaway pattern stops after this much heap and so many backtracks (about a second); the
// patterns of known models need no heap and, in a long run of one letter, a few backtracks a byte.
constexpr uint32_t heapLimitKiB = 64 * 1024;

uint32_t backtrackLimit(size_t textSize) {
  return uint32_t(
      std::min<size_t>(10'000'000 + 8 * textSize, std::numeric_limits<uint32_t>::max()));
}

[[noreturn]] void refuse(std::string_view regex, size_t at, std::string_view why) {
  fail(ErrorCode::BadInput,
       "split pattern {}: {} at byte {}, expected what regex engines read alike; this pattern "
       "is not supported. Compile with --no-tokenizer to run token ids",
       quote(regex), why, at);
}

/// Rewrites one pattern; see the class comment for what and why.
class Rewriter {
public:
  explicit Rewriter(std::string_view pattern) : regex(pattern) {}

  std::string run() {
    while (at < regex.size()) {
      if (regex[at] == '\\')
        escape();
      else if (inSet)
        setCharacter();
      else
        plainCharacter();
    }
    return std::move(out);
  }

private:
  void escape() {
    char c = at + 1 < regex.size() ? regex[at + 1] : '\0';
    if (c == 'h' || c == 'H' || c == 'Q' || c == 'K')
      refuse(regex, at, "an escape (\\h, \\H, \\Q or \\K) that regex engines read differently");
    if (c == 's' || c == 'S')
      appendSet(c == 's' ? spaceSet : otherSet);
    else
      out += regex.substr(at, 2);
    at += 2;
  }

  void appendSet(std::string_view set) {
    if (!inSet)
      out += '[';
    out += set;
    if (!inSet)
      out += ']';
  }

  void setCharacter() {
    if (regex.substr(at, 2) == "&&" || (regex[at] == '[' && regex.substr(at, 2) != "[:"))
      refuse(regex, at, "a set inside a set");
    if (regex.substr(at, 2) == "[:") { // a POSIX class such as [:alpha:]
      size_t end = regex.find(":]", at + 2);
      if (end == std::string_view::npos)
        refuse(regex, at, "a POSIX class without its end");
      out += regex.substr(at, end + 2 - at);
      at = end + 2;
      return;
    }
    inSet = regex[at] != ']';
    out += regex[at++];
  }

  void plainCharacter() {
    if (regex[at] == '^' || regex[at] == '$')
      refuse(regex, at, "^ or $, which regex engines read differently");
    inSet = regex[at] == '[';
    out += regex[at++];
    if (inSet && at < regex.size() && regex[at] == '^')
      out += regex[at++];
    if (inSet && at < regex.size() && regex[at] == ']') // a first ] is a member of the set
      refuse(regex, at, "an empty set or a set that starts with ]");
  }

  std::string_view regex;
  size_t at = 0;
  bool inSet = false;
  std::string out;
};

std::string errorText(int error) {
  PCRE2_UCHAR text[256] = {};
  pcre2_get_error_message(error, text, sizeof text);
  return reinterpret_cast<const char *>(text);
}

pcre2_code *compile(std::string_view regex) {
  std::string rewritten = Rewriter(regex).run();
  int error = 0;
  PCRE2_SIZE place = 0;
  pcre2_code *code =
      pcre2_compile(reinterpret_cast<PCRE2_SPTR>(rewritten.data()), rewritten.size(),
                    PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C, &error, &place, nullptr);
  if (!code)
    fail(ErrorCode::BadInput, "split pattern {} does not compile: {} (byte {} after rewriting \\s)",
         quote(regex), errorText(error), place);
  // Where JIT is missing or forbidden the interpreter gives the same matches, only slower.
  pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);
  return code;
}

} // namespace

void SplitPattern::Scratch::FreeData::operator()(void *data) const {
  pcre2_match_data_free(static_cast<pcre2_match_data *>(data));
}
void SplitPattern::Scratch::FreeLimits::operator()(void *context) const {
  pcre2_match_context_free(static_cast<pcre2_match_context *>(context));
}
void SplitPattern::FreeCode::operator()(void *compiled) const {
  pcre2_code_free(static_cast<pcre2_code *>(compiled));
}

// One pair of offsets is enough: groups of a pattern are not looked at.
SplitPattern::Scratch::Scratch()
    : matchData(pcre2_match_data_create(1, nullptr)), limits(pcre2_match_context_create(nullptr)) {
  if (!matchData || !limits)
    throw std::bad_alloc();
  pcre2_set_heap_limit(static_cast<pcre2_match_context *>(limits.get()), heapLimitKiB);
}

SplitPattern::SplitPattern(std::string_view regex) : source(regex), code(compile(regex)) {}

std::optional<SplitPattern::Match> SplitPattern::find(std::string_view text, size_t from,
                                                      Scratch &scratch) const {
  auto *data = static_cast<pcre2_match_data *>(scratch.matchData.get());
  auto *limits = static_cast<pcre2_match_context *>(scratch.limits.get());
  pcre2_set_match_limit(limits, backtrackLimit(text.size()));
  auto match = [&](uint32_t options) {
    return pcre2_match(static_cast<const pcre2_code *>(code.get()),
                       reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), from,
                       PCRE2_NO_UTF_CHECK | options, data, limits);
  };
  int result = match(0);
  if (result == PCRE2_ERROR_JIT_STACKLIMIT) // the interpreter keeps its stack on the heap
    result = match(PCRE2_NO_JIT);
  if (result == PCRE2_ERROR_NOMATCH)
    return std::nullopt;
  if (result < 0)
    fail(ErrorCode::BadInput,
         "split pattern {} gave up on the text at byte {} of {}: {}; split the text or correct the "
         "pattern",
         quote(source), from, text.size(), errorText(result));
  const PCRE2_SIZE *offsets = pcre2_get_ovector_pointer(data);
  return Match{offsets[0], offsets[1]};
}

size_t SplitPattern::nextCharacter(std::string_view text, size_t at) {
  do
    ++at;
  while (at < text.size() && (text[at] & 0xC0) == 0x80);
  return at;
}

} // namespace inf
