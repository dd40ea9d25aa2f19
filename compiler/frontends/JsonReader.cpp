#include "compiler/frontends/JsonReader.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <set>

#include "compiler/frontends/Limits.h"
#include "compiler/frontends/Suggest.h"
#include "runtime/base/Error.h"

namespace inf {
namespace {

/// The value as a message shows it: scalars with their value, containers by kind.
std::string describe(const Json &value) {
  switch (value.type()) {
  case Json::value_t::object:
    return "an object";
  case Json::value_t::array:
    return "an array";
  case Json::value_t::string:
    return "the string " + quoteShort(value.get_ref<const std::string &>());
  default:
    return value.dump();
  }
}

/// What the parser says, without its own prefix and without the text it read, which has any length.
std::string_view parserMessage(std::string_view message) {
  if (size_t prefix = message.find("] "); prefix != std::string_view::npos)
    message.remove_prefix(prefix + 2);
  return message.substr(0, message.find("; last read")).substr(0, 160);
}

/// Watches a parse: the library keeps the last of two equal keys and has no limit on depth.
class ParseGuard {
public:
  explicit ParseGuard(const std::string &sourceName) : source(sourceName) {}

  bool operator()(int depth, Json::parse_event_t event, Json &value) {
    if (static_cast<size_t>(depth) > maxJsonDepth)
      fail(ErrorCode::BadInput, "{}: nested deeper than {} levels; expected a flat description",
           source, maxJsonDepth);
    if (event == Json::parse_event_t::object_start)
      keys.emplace_back();
    else if (event == Json::parse_event_t::object_end)
      keys.pop_back();
    else if (event == Json::parse_event_t::key)
      addKey(value.get_ref<const std::string &>());
    return true;
  }

private:
  void addKey(const std::string &key) {
    if (!keys.back().insert(key).second)
      fail(ErrorCode::BadInput, "{}: key {} is given twice in one object; keep one of them", source,
           quoteShort(key));
  }

  const std::string &source;
  std::vector<std::set<std::string>> keys;
};

} // namespace

std::string readJsonFile(const std::string &path) {
  std::error_code error;
  auto status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status))
    fail(ErrorCode::Io, "{}: no such file; check the path", path);
  if (!std::filesystem::is_regular_file(status))
    fail(ErrorCode::BadInput, "{}: expected a JSON file, found something that is not a file", path);
  std::ifstream file(path, std::ios::binary);
  if (!file)
    fail(ErrorCode::Io, "{}: cannot be opened for reading; check its permissions", path);
  std::string text(maxJsonBytes + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (file.bad())
    fail(ErrorCode::Io, "{}: reading failed", path);
  text.resize(static_cast<size_t>(file.gcount()));
  if (text.size() > maxJsonBytes)
    fail(ErrorCode::BadInput, "{}: larger than {} bytes; expected a model description", path,
         maxJsonBytes);
  return text;
}

Json parseJson(const std::string &text, const std::string &source) {
  ParseGuard guard(source);
  try {
    return Json::parse(text, std::ref(guard));
  } catch (const Json::exception &error) {
    fail(ErrorCode::BadInput, "{}: not valid JSON: {}", source, parserMessage(error.what()));
  }
}

JsonPlace JsonPlace::child(std::string_view key) const {
  auto plain = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  bool simple = key.size() <= 60 && std::all_of(key.begin(), key.end(), plain);
  std::string name = simple ? std::string(key) : fmt::format("[{}]", quoteShort(key));
  return {source, path.empty() || !simple ? path + name : path + "." + name, problems};
}

JsonPlace JsonPlace::item(size_t index) const {
  return {source, fmt::format("{}[{}]", path, index), problems};
}

std::string JsonPlace::text() const { return path.empty() ? source : source + ": " + path; }

void refuseAt(const JsonPlace &place, const std::string &message) {
  if (!place.problems)
    fail(ErrorCode::BadInput, "{}", message);
  place.problems->push_back(message);
}

void failIfAny(JsonProblems *problems) {
  if (!problems || problems->empty())
    return;
  std::string last = std::move(problems->back());
  problems->pop_back();
  fail(ErrorCode::BadInput, "{}", last);
}

namespace {

void refuseType(const Json &value, const JsonPlace &place, std::string_view expected) {
  refuseAt(place,
           fmt::format("{}: expected {}, found {}", place.text(), expected, describe(value)));
}

} // namespace

void failType(const Json &value, const JsonPlace &place, std::string_view expected) {
  fail(ErrorCode::BadInput, "{}: expected {}, found {}", place.text(), expected, describe(value));
}

uint64_t jsonCount(const Json &value, const JsonPlace &place) {
  bool whole =
      value.is_number_unsigned() || (value.is_number_integer() && value.get<int64_t>() >= 0);
  if (whole)
    return value.get<uint64_t>();
  refuseType(value, place, "a whole number of at least 0");
  return 1;
}

double jsonNumber(const Json &value, const JsonPlace &place) {
  if (value.is_number() && std::isfinite(value.get<double>()))
    return value.get<double>();
  refuseType(value, place, "a number");
  return 1;
}

bool jsonFlag(const Json &value, const JsonPlace &place) {
  if (value.is_boolean())
    return value.get<bool>();
  refuseType(value, place, "true or false");
  return false;
}

std::string jsonText(const Json &value, const JsonPlace &place) {
  if (value.is_string())
    return value.get<std::string>();
  refuseType(value, place, "a string");
  return "";
}

const Json &jsonArray(const Json &value, const JsonPlace &place) {
  if (!value.is_array())
    failType(value, place, "an array");
  return value;
}

std::vector<double> jsonNumbers(const Json &value, const JsonPlace &place, size_t most) {
  if (jsonArray(value, place).size() > most)
    fail(ErrorCode::BadInput, "{}: expected at most {} numbers, found {}", place.text(), most,
         value.size());
  std::vector<double> numbers;
  for (size_t i = 0; i < value.size(); ++i)
    numbers.push_back(jsonNumber(value[i], place.item(i)));
  return numbers;
}

JsonObject::JsonObject(const Json &object, JsonPlace where, Nulls nullMeaning)
    : value(&object), place(std::move(where)), nulls(nullMeaning) {
  if (!value->is_object())
    failType(*value, place, "an object");
}

const Json *JsonObject::find(std::string_view key) {
  known.emplace_back(key);
  auto found = value->find(key);
  if (found == value->end() || (nulls == Nulls::Absent && found->is_null()))
    return nullptr;
  return &*found;
}

const Json *JsonObject::findRequired(std::string_view key) {
  const Json *found = find(key);
  if (!found)
    refuseAt(place, fmt::format("{}: missing; this key has no default, add it", at(key).text()));
  return found;
}

const Json &JsonObject::require(std::string_view key) {
  if (const Json *found = find(key))
    return *found;
  fail(ErrorCode::BadInput, "{}: missing; this key has no default, add it", at(key).text());
}

uint64_t JsonObject::count(std::string_view key) {
  const Json *found = findRequired(key);
  return found ? jsonCount(*found, at(key)) : 1;
}

uint64_t JsonObject::count(std::string_view key, uint64_t fallback) {
  const Json *found = find(key);
  return found ? jsonCount(*found, at(key)) : fallback;
}

double JsonObject::number(std::string_view key) {
  const Json *found = findRequired(key);
  return found ? jsonNumber(*found, at(key)) : 1;
}

double JsonObject::number(std::string_view key, double fallback) {
  return optionalNumber(key).value_or(fallback);
}

std::optional<double> JsonObject::optionalNumber(std::string_view key) {
  const Json *found = find(key);
  return found ? std::optional(jsonNumber(*found, at(key))) : std::nullopt;
}

bool JsonObject::flag(std::string_view key, bool fallback) {
  const Json *found = find(key);
  return found ? jsonFlag(*found, at(key)) : fallback;
}

std::string JsonObject::text(std::string_view key) {
  const Json *found = findRequired(key);
  return found ? jsonText(*found, at(key)) : "";
}

std::string JsonObject::text(std::string_view key, std::string_view fallback) {
  const Json *found = find(key);
  return found ? jsonText(*found, at(key)) : std::string(fallback);
}

JsonObject JsonObject::object(std::string_view key) {
  return JsonObject(require(key), at(key), nulls);
}

void JsonObject::refuseUnknownKeys() const {
  for (const auto &[key, ignored] : value->items())
    if (std::find(known.begin(), known.end(), key) == known.end())
      refuseAt(place, fmt::format("{}: unknown key{}; known here: {}", at(key).text(),
                                  suggestion(key, known), firstNames(known, known.size())));
}

} // namespace inf
