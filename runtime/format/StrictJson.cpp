#include "runtime/format/StrictJson.h"

#include <cmath>

#include <fmt/format.h>

#include "runtime/base/Error.h"

namespace inf {
namespace {

using nlohmann::json;

constexpr int deepestNesting = 64;

uint64_t asUnsigned(const ObjectReader &reader, std::string_view key, const json &item,
                    uint64_t largest) {
  if (!item.is_number_unsigned())
    reader.refuse(key, fmt::format("{}, expected a non-negative integer", item.type_name()));
  const uint64_t number = item.get<uint64_t>();
  if (number > largest)
    reader.refuse(key, fmt::format("{}, expected at most {}", number, largest));
  return number;
}

int64_t asSigned(const ObjectReader &reader, std::string_view key, const json &item) {
  if (!item.is_number_integer())
    reader.refuse(key, fmt::format("{}, expected an integer", item.type_name()));
  if (item.is_number_unsigned() &&
      item.get<uint64_t>() > uint64_t(std::numeric_limits<int64_t>::max()))
    reader.refuse(key, fmt::format("{}, expected at most 2^63 - 1", item.get<uint64_t>()));
  return item.get<int64_t>();
}

double asFinite(const ObjectReader &reader, std::string_view key, const json &item) {
  if (!item.is_number() || !std::isfinite(item.get<double>()))
    reader.refuse(key, fmt::format("{}, expected a finite number", item.type_name()));
  return item.get<double>();
}

std::string asString(const ObjectReader &reader, std::string_view key, const json &item) {
  if (!item.is_string())
    reader.refuse(key, fmt::format("{}, expected a string", item.type_name()));
  return item.get<std::string>();
}

} // namespace

json parseStrictJson(std::string_view text, std::string_view what) {
  std::vector<std::set<std::string>> open; // keys of the objects around the current place
  const auto watch = [&](int depth, json::parse_event_t event, json &parsed) {
    if (depth > deepestNesting)
      fail(ErrorCode::BadInput, "{}: JSON nested deeper than {}, expected a flat description", what,
           deepestNesting);
    if (event == json::parse_event_t::object_start)
      open.emplace_back();
    else if (event == json::parse_event_t::object_end)
      open.pop_back();
    else if (event == json::parse_event_t::key &&
             !open.back().insert(parsed.get_ref<const std::string &>()).second)
      fail(ErrorCode::BadInput,
           "{}: key '{}' twice in one JSON object, expected once; the file is "
           "damaged or forged",
           what, parsed.get_ref<const std::string &>());
    return true;
  };
  try {
    return json::parse(text.begin(), text.end(), watch);
  } catch (const json::exception &error) {
    fail(ErrorCode::BadInput, "{}: expected JSON, found: {}; the file is damaged", what,
         error.what());
  }
}

ObjectReader::ObjectReader(const json &object, std::string objectPlace)
    : value(&object), place(std::move(objectPlace)) {
  if (!value->is_object())
    fail(ErrorCode::BadInput,
         "{}: {}, expected an object; the file is damaged or of another version, get it again",
         place, value->type_name());
}

void ObjectReader::refuse(std::string_view key, const std::string &what) const {
  fail(ErrorCode::BadInput, "{}.{}: {}; the file is damaged or of another version, get it again",
       place, key, what);
}

const json &ObjectReader::member(const char *key) {
  const auto found = value->find(key);
  if (found == value->end())
    refuse(key, "missing, expected a value");
  asked.insert(key);
  return *found;
}

const json &ObjectReader::array(const char *key) {
  const json &items = member(key);
  if (!items.is_array())
    refuse(key, fmt::format("{}, expected an array", items.type_name()));
  return items;
}

uint64_t ObjectReader::unsignedInteger(const char *key, uint64_t largest) {
  return asUnsigned(*this, key, member(key), largest);
}

int64_t ObjectReader::signedInteger(const char *key) { return asSigned(*this, key, member(key)); }

double ObjectReader::finite(const char *key) { return asFinite(*this, key, member(key)); }

bool ObjectReader::boolean(const char *key) {
  const json &item = member(key);
  if (!item.is_boolean())
    refuse(key, fmt::format("{}, expected true or false", item.type_name()));
  return item.get<bool>();
}

std::string ObjectReader::string(const char *key) { return asString(*this, key, member(key)); }

std::vector<uint64_t> ObjectReader::unsignedIntegers(const char *key, uint64_t largest) {
  std::vector<uint64_t> result;
  for (const json &item : array(key))
    result.push_back(asUnsigned(*this, key, item, largest));
  return result;
}

std::vector<int64_t> ObjectReader::signedIntegers(const char *key) {
  std::vector<int64_t> result;
  for (const json &item : array(key))
    result.push_back(asSigned(*this, key, item));
  return result;
}

std::vector<double> ObjectReader::finites(const char *key) {
  std::vector<double> result;
  for (const json &item : array(key))
    result.push_back(asFinite(*this, key, item));
  return result;
}

std::vector<std::string> ObjectReader::strings(const char *key) {
  std::vector<std::string> result;
  for (const json &item : array(key))
    result.push_back(asString(*this, key, item));
  return result;
}

std::vector<ObjectReader> ObjectReader::objects(const char *key) {
  std::vector<ObjectReader> result;
  for (const json &item : array(key))
    result.emplace_back(item, fmt::format("{}.{}[{}]", place, key, result.size()));
  return result;
}

ObjectReader ObjectReader::object(const char *key) {
  return ObjectReader(member(key), fmt::format("{}.{}", place, key));
}

void ObjectReader::expectNothingElse() const {
  for (const auto &item : value->items())
    if (!asked.contains(item.key()))
      refuse(item.key(), "unknown key");
}

} // namespace inf
