#include "runtime/tokenizer/UnicodeForms.h"

#include <algorithm>
#include <vector>

#include <utf8proc.h>

#include "runtime/base/Error.h"
#include "runtime/tokenizer/Utf8.h"

namespace inf {
namespace {

using CodePoints = std::vector<utf8proc_int32_t>;

bool composes(UnicodeForm form) { return form == UnicodeForm::NFC || form == UnicodeForm::NFKC; }

utf8proc_option_t optionsOf(UnicodeForm form) {
  bool compatible = form == UnicodeForm::NFKC || form == UnicodeForm::NFKD;
  return utf8proc_option_t(UTF8PROC_STABLE | (compatible ? UTF8PROC_COMPAT : 0) |
                           (composes(form) ? UTF8PROC_COMPOSE : UTF8PROC_DECOMPOSE));
}

void append(std::string &out, utf8proc_int32_t codePoint) {
  utf8proc_uint8_t bytes[4];
  out.append(reinterpret_cast<const char *>(bytes), size_t(utf8proc_encode_char(codePoint, bytes)));
}

void decompose(utf8proc_int32_t codePoint, utf8proc_option_t options, CodePoints &out) {
  constexpr size_t longest = 18; // U+FDFA under NFKD
  utf8proc_int32_t parts[longest];
  int boundary = 0;
  auto count = utf8proc_decompose_char(codePoint, parts, longest, options, &boundary);
  if (count < 0 || size_t(count) > longest)
    fail(ErrorCode::Internal, "U+{:04X} does not decompose: {}", codePoint, count);
  out.insert(out.end(), parts, parts + count);
}

int combiningClass(utf8proc_int32_t codePoint) {
  return utf8proc_get_property(codePoint)->combining_class;
}

/// The canonical ordering algorithm (Unicode Standard, D109). utf8proc's own moves marks one place
/// at a time, which takes hours for a long run of marks.
void orderMarks(CodePoints &points) {
  auto isStarter = [](utf8proc_int32_t c) { return combiningClass(c) == 0; };
  for (auto at = points.begin(); at != points.end();) {
    auto begin = std::find_if_not(at, points.end(), isStarter);
    at = std::find_if(begin, points.end(), isStarter);
    std::stable_sort(begin, at,
                     [](auto a, auto b) { return combiningClass(a) < combiningClass(b); });
  }
}

void appendNormalized(UnicodeForm form, const CodePoints &points, std::string &out) {
  CodePoints parts;
  for (utf8proc_int32_t point : points)
    decompose(point, optionsOf(form), parts);
  orderMarks(parts);
  auto length = utf8proc_ssize_t(parts.size());
  if (composes(form))
    length = utf8proc_normalize_utf32(parts.data(), length, optionsOf(form));
  if (length < 0)
    fail(ErrorCode::Internal, "composing {} code points failed: {}", parts.size(), length);
  for (utf8proc_ssize_t i = 0; i < length; ++i)
    append(out, parts[size_t(i)]);
}

void appendLowercase(utf8proc_int32_t point, std::string &out) {
  if (point == 0x130) { // İ: the only one that becomes two characters
    out += "i\u0307";
    return;
  }
  append(out, utf8proc_tolower(point));
}

bool isMark(utf8proc_int32_t point) {
  utf8proc_category_t category = utf8proc_category(point);
  return category == UTF8PROC_CATEGORY_MN || category == UTF8PROC_CATEGORY_MC ||
         category == UTF8PROC_CATEGORY_ME;
}

void appendForm(UnicodeForm form, const CodePoints &points, std::string &out) {
  if (form < UnicodeForm::Lowercase)
    return appendNormalized(form, points, out);
  for (utf8proc_int32_t point : points)
    if (form == UnicodeForm::Lowercase)
      appendLowercase(point, out);
    else if (!isMark(point))
      append(out, point);
}

/// Bytes of ASCII at the start that the form leaves as they are: all but the last character, which
/// may take marks that follow.
size_t unchanged(UnicodeForm form, std::string_view text) {
  if (form == UnicodeForm::Lowercase)
    return 0;
  size_t at = 0;
  while (at < text.size() && uint8_t(text[at]) < 0x80)
    ++at;
  return at == text.size() || at == 0 ? at : at - 1;
}

/// Code points from the start of `text` to the first ASCII character after others (or, for what
/// changes ASCII, to the end), or to bytes that are not UTF-8; `used` is their bytes.
CodePoints takeRun(UnicodeForm form, std::string_view text, size_t &used) {
  CodePoints points;
  for (used = 0; used < text.size();) {
    Utf8Sequence sequence = firstSequence(text.substr(used));
    bool ascii = uint8_t(text[used]) < 0x80;
    if (sequence.kind != Utf8Kind::Valid || (ascii && used > 0 && form != UnicodeForm::Lowercase))
      break;
    points.push_back(utf8proc_int32_t(codePointOf(text.substr(used, sequence.length))));
    used += sequence.length;
  }
  return points;
}

bool isWhiteSpace(uint32_t c) {
  return (c >= 0x9 && c <= 0xD) || c == 0x20 || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F ||
         c == 0x3000;
}

} // namespace

std::string toForm(UnicodeForm form, std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    size_t same = unchanged(form, text);
    out += text.substr(0, same);
    text.remove_prefix(same);
    size_t used = 0;
    appendForm(form, takeRun(form, text, used), out);
    text.remove_prefix(used);
    size_t broken = invalidPrefix(text);
    out += text.substr(0, broken);
    text.remove_prefix(broken);
  }
  return out;
}

size_t whiteSpacePrefix(std::string_view text) {
  size_t at = 0;
  while (at < text.size()) {
    Utf8Sequence sequence = firstSequence(text.substr(at));
    if (sequence.kind != Utf8Kind::Valid ||
        !isWhiteSpace(codePointOf(text.substr(at, sequence.length))))
      break;
    at += sequence.length;
  }
  return at;
}

size_t whiteSpaceSuffix(std::string_view text) {
  size_t end = text.size();
  while (end > 0) {
    size_t begin = lastSequence(text.substr(0, end));
    if (firstSequence(text.substr(begin, end - begin)).kind != Utf8Kind::Valid ||
        !isWhiteSpace(codePointOf(text.substr(begin, end - begin))))
      break;
    end = begin;
  }
  return text.size() - end;
}

bool isWordCharacter(uint32_t c) {
  if (c == 0x200C || c == 0x200D || (c >= 0x24B6 && c <= 0x24E9) ||
      (c >= 0x1F130 && c <= 0x1F149) || (c >= 0x1F150 && c <= 0x1F169) ||
      (c >= 0x1F170 && c <= 0x1F189))
    return true; // joiners, and the letters in circles and squares (Other_Alphabetic)
  switch (utf8proc_category(utf8proc_int32_t(c))) {
  case UTF8PROC_CATEGORY_LU:
  case UTF8PROC_CATEGORY_LL:
  case UTF8PROC_CATEGORY_LT:
  case UTF8PROC_CATEGORY_LM:
  case UTF8PROC_CATEGORY_LO:
  case UTF8PROC_CATEGORY_MN:
  case UTF8PROC_CATEGORY_MC:
  case UTF8PROC_CATEGORY_ME:
  case UTF8PROC_CATEGORY_ND:
  case UTF8PROC_CATEGORY_NL:
  case UTF8PROC_CATEGORY_PC:
    return true;
  default:
    return false;
  }
}

} // namespace inf
