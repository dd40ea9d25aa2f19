#include "runtime/tools/TokenInput.h"

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <memory>

#include <nlohmann/json.hpp>

#include "runtime/base/Error.h"

namespace inf {
namespace {

constexpr size_t mostBytes = size_t{1} << 30; // what the tokenizer takes
constexpr size_t readBytes = size_t{1} << 16;

int32_t parseId(std::string_view part, std::string_view whole) {
  int32_t id = 0;
  auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), id);
  if (error != std::errc() || end != part.data() + part.size())
    fail(ErrorCode::Usage,
         "'{}' in --ids {} is not a token id; expected whole numbers separated by commas.", part,
         whole);
  return id;
}

std::vector<int32_t> idsOfLine(std::string_view line, uint64_t number, const std::string &path) {
  nlohmann::json value = nlohmann::json::parse(line, nullptr, false);
  if (!value.is_object() || !value.contains("ids") || !value["ids"].is_array())
    fail(ErrorCode::BadInput, "'{}' line {}: expected an object {{\"ids\": [1, 2, 3]}}.", path,
         number);
  std::vector<int32_t> ids;
  for (const nlohmann::json &id : value["ids"]) {
    if (!id.is_number_integer() || id < INT32_MIN || id > INT32_MAX)
      fail(ErrorCode::BadInput, "'{}' line {}: '{}' is not a token id; expected whole numbers.",
           path, number, id.dump());
    ids.push_back(id.get<int32_t>());
  }
  if (ids.empty())
    fail(ErrorCode::BadInput, "'{}' line {} has no ids; expected at least one.", path, number);
  return ids;
}

} // namespace

std::vector<int32_t> promptTokens(const Tokenizer &tokenizer, std::string_view text, bool raw) {
  return raw ? tokenizer.encode(text, SpecialTokens::Allow, TextEnds::Bare)
             : tokenizer.encode(text, SpecialTokens::AsText, TextEnds::Begun);
}

std::vector<int32_t> parseIds(std::string_view text) {
  std::vector<int32_t> ids;
  std::string_view rest = text;
  while (true) {
    size_t comma = rest.find(',');
    ids.push_back(parseId(rest.substr(0, comma), text));
    if (comma == std::string_view::npos)
      return ids;
    rest.remove_prefix(comma + 1);
  }
}

std::string readText(const std::string &path) {
  bool standard = path == "-";
  std::unique_ptr<FILE, int (*)(FILE *)> opened(nullptr, &std::fclose);
  if (!standard)
    opened.reset(std::fopen(path.c_str(), "rb"));
  FILE *file = standard ? stdin : opened.get();
  if (!file)
    fail(ErrorCode::Io, "cannot open '{}': {}. Check the path.", path, errnoText(errno));
  std::string text;
  for (size_t got = 1; got != 0;) {
    size_t before = text.size();
    text.resize(before + readBytes);
    got = std::fread(text.data() + before, 1, readBytes, file);
    text.resize(before + got);
    if (text.size() > mostBytes)
      fail(ErrorCode::TooLong, "'{}' is longer than {} bytes. Split it.", path, mostBytes);
  }
  if (std::ferror(file))
    fail(ErrorCode::Io, "cannot read '{}': {}. Check that it is a file.", path, errnoText(errno));
  return text;
}

std::vector<IdLine> readIdLines(const std::string &path) {
  std::string text = readText(path);
  std::vector<IdLine> lines;
  std::string_view rest = text;
  for (uint64_t number = 0; !rest.empty(); ++number) {
    size_t end = rest.find('\n');
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    if (line.find_first_not_of(" \t\r") != std::string_view::npos)
      lines.push_back({number, idsOfLine(line, number + 1, path)});
  }
  if (lines.empty())
    fail(ErrorCode::BadInput, "'{}' is empty; expected lines {{\"ids\": [1, 2, 3]}}.", path);
  return lines;
}

} // namespace inf
