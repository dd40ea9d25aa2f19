#include "runtime/server/RequestFields.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace inf {
namespace {

using nlohmann::json;

constexpr size_t shownBytes = 64; ///< of a name that the client made up
/// Memory of an object, an array or a key (each end and each key counts) against that of a number.
constexpr size_t partsOfContainer = 4;

/// "messages[].name" for "messages[3].name": said once, however many there are.
std::string anyIndex(const std::string &path) {
  std::string result;
  for (char c : path)
    if (c < '0' || c > '9' || result.empty() || result.back() != '[')
      result += c;
  return result;
}

/// Whether a field is there in form only.
bool saysNothing(const json &value) {
  return value == false || value == "" ||
         ((value.is_array() || value.is_object()) && value.empty());
}

/// A value in a message: what a client wrote can be long.
std::string shown(const json &value) {
  if (value.is_string())
    return fmt::format("'{}'", value.get_ref<const std::string &>().substr(0, shownBytes));
  return value.is_structured() ? fmt::format("an {}", value.type_name()) : value.dump();
}

/// "'text' or null", of the values that change nothing.
std::string neutralValues(std::initializer_list<json> neutral) {
  std::string text;
  for (const json &value : neutral)
    text += value.dump() + " or ";
  return text + "null";
}

ApiError wrongType(const std::string &pointer, const json &value, std::string_view expected) {
  return invalidField(pointer, "invalid_type",
                      fmt::format("is of type {}, expected {}.", value.type_name(), expected));
}

} // namespace

json parseRequestBody(std::string_view body, int deepest, size_t mostParts) {
  std::vector<std::set<std::string>> open; // keys of the objects around the current place
  size_t parts = 0;
  const auto watch = [&](int depth, json::parse_event_t event, json &parsed) {
    if (depth > deepest)
      throw ApiError(400, "invalid_request_error", "json_too_deep",
                     fmt::format("The request body nests deeper than {} levels.", deepest));
    parts += event == json::parse_event_t::value ? 1 : partsOfContainer;
    if (parts > mostParts)
      throw ApiError(400, "invalid_request_error", "json_too_large",
                     "The request body has too many values and keys; ask in several requests.");
    if (event == json::parse_event_t::object_start)
      open.emplace_back();
    else if (event == json::parse_event_t::object_end)
      open.pop_back();
    else if (event == json::parse_event_t::key &&
             !open.back().insert(parsed.get_ref<const std::string &>()).second)
      throw ApiError(400, "invalid_request_error", "duplicate_key",
                     fmt::format("The request body has the key '{}' twice in one object.",
                                 parsed.get_ref<const std::string &>().substr(0, shownBytes)));
    return true;
  };
  try {
    json parsed = json::parse(body.begin(), body.end(), watch);
    if (!parsed.is_object())
      throw wrongType("", parsed, "an object");
    return parsed;
  } catch (const json::parse_error &error) {
    throw ApiError(400, "invalid_request_error", "invalid_json",
                   fmt::format("The request body is not JSON: error at byte {}.", error.byte));
  } catch (const json::exception &) {
    throw ApiError(400, "invalid_request_error", "invalid_json",
                   "The request body has a number that is out of range.");
  }
}

void warnOnce(std::vector<std::string> &warnings, std::string warning) {
  if (std::find(warnings.begin(), warnings.end(), warning) == warnings.end())
    warnings.push_back(std::move(warning));
}

RequestFields::RequestFields(const json &value, std::string where)
    : object(value), pointer(std::move(where)) {
  if (!object.is_object())
    throw wrongType(pointer, object, "an object");
}

std::string RequestFields::at(std::string_view key) const {
  return fmt::format("{}/{}", pointer, key.substr(0, shownBytes));
}

const json *RequestFields::find(const char *key) {
  asked.insert(key);
  const auto found = object.find(key);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

const json &RequestFields::need(const char *key) {
  const json *value = find(key);
  if (!value)
    throw invalidField(at(key), "missing_required_parameter", "is missing.");
  return *value;
}

std::optional<double> RequestFields::number(const char *key, double least, double most) {
  const json *value = find(key);
  if (!value)
    return std::nullopt;
  if (!value->is_number())
    throw wrongType(at(key), *value, "a number");
  const double number = value->get<double>();
  if (!(number >= least && number <= most))
    throw invalidField(at(key), "invalid_value",
                       fmt::format("is {}, expected {} to {}.", value->dump(), least, most));
  return number;
}

std::optional<int64_t> RequestFields::integer(const char *key, int64_t least, int64_t most) {
  const json *value = find(key);
  if (!value)
    return std::nullopt;
  if (!value->is_number_integer())
    throw wrongType(at(key), *value, "an integer");
  const bool large = value->is_number_unsigned() && value->get<uint64_t>() > uint64_t(INT64_MAX);
  const int64_t number = large ? INT64_MAX : value->get<int64_t>();
  if (large || number < least || number > most)
    throw invalidField(at(key), "invalid_value",
                       fmt::format("is {}, expected {} to {}.", value->dump(), least, most));
  return number;
}

std::optional<bool> RequestFields::boolean(const char *key) {
  const json *value = find(key);
  if (value && !value->is_boolean())
    throw wrongType(at(key), *value, "true or false");
  return value ? std::optional(value->get<bool>()) : std::nullopt;
}

std::optional<std::string> RequestFields::string(const char *key) {
  const json *value = find(key);
  if (value && !value->is_string())
    throw wrongType(at(key), *value, "a string");
  return value ? std::optional(value->get<std::string>()) : std::nullopt;
}

std::string RequestFields::needString(const char *key) {
  need(key);
  return *string(key);
}

std::optional<std::string> RequestFields::choice(const char *key,
                                                 std::initializer_list<const char *> allowed) {
  std::optional<std::string> value = string(key);
  if (value && std::find(allowed.begin(), allowed.end(), *value) == allowed.end())
    throw invalidField(at(key), "invalid_value",
                       fmt::format("is '{}', expected one of: {}.", value->substr(0, shownBytes),
                                   fmt::join(allowed, ", ")));
  return value;
}

std::vector<const json *> RequestFields::array(const char *key, size_t most) {
  std::vector<const json *> items;
  const json *value = find(key);
  if (!value)
    return items;
  if (!value->is_array())
    throw wrongType(at(key), *value, "an array");
  if (value->size() > most)
    throw invalidField(at(key), "invalid_value",
                       fmt::format("has {} elements, expected at most {}.", value->size(), most));
  for (const json &item : *value)
    items.push_back(&item);
  return items;
}

void RequestFields::unsupported(const char *key, std::initializer_list<json> neutral,
                                std::string_view instead) {
  const json *value = find(key);
  if (value && std::find(neutral.begin(), neutral.end(), *value) == neutral.end())
    throw invalidField(at(key), "unsupported_parameter",
                       fmt::format("is {}, which is not supported by this server; expected {}. {}",
                                   shown(*value), neutralValues(neutral), instead));
}

void RequestFields::refuse(const char *key, std::string_view code,
                           std::string_view expected) const {
  throw invalidField(at(key), code,
                     fmt::format("is {}, which is not supported by this server; expected {}.",
                                 shown(object.at(key)), expected));
}

void RequestFields::ignore(std::initializer_list<const char *> keys) {
  for (const char *key : keys)
    if (find(key))
      ignoredKeys.push_back(key);
}

void RequestFields::warnOf(std::initializer_list<const char *> keys,
                           std::vector<std::string> &warnings) {
  for (const char *key : keys)
    if (const json *value = find(key); value && !saysNothing(*value))
      warnOnce(warnings, fmt::format("{} is ignored", anyIndex(dottedPath(at(key)))));
}

void RequestFields::expectNothingElse() const {
  for (const auto &item : object.items())
    if (!asked.contains(item.key()))
      throw invalidField(at(item.key()), "unknown_parameter",
                         "is not a parameter of this request.");
}

} // namespace inf
