#include "runtime/tokenizer/JsonFields.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/ranges.h>

#include "runtime/base/Error.h"
#include "runtime/tokenizer/Quote.h"

namespace inf {
namespace {

/// What to do about a tokenizer that we can't follow.
constexpr std::string_view whatNext =
    "not implemented. Compile with --no-tokenizer to run token ids";

[[noreturn]] void wrongType(const std::string &path, const Json &value, const char *expected) {
  fail(ErrorCode::BadInput, "tokenizer.json: {} is a {}, expected {}; the file is broken", path,
       value.type_name(), expected);
}

} // namespace

int64_t integerOf(const Json &value, const std::string &path) {
  if (!value.is_number_integer())
    wrongType(path, value, "an integer");
  constexpr int64_t largest = std::numeric_limits<int64_t>::max();
  if (value.is_number_unsigned() && value.get<uint64_t>() > uint64_t(largest))
    return largest;
  return value.get<int64_t>();
}

FieldReader::FieldReader(const Json &json, std::string place)
    : object(json), where(std::move(place)) {
  if (!object.is_object())
    wrongType(where.empty() ? "the file" : where, object, "an object");
}

void FieldReader::onlyKeys(std::initializer_list<std::string_view> known) const {
  for (const auto &item : object.items())
    if (std::find(known.begin(), known.end(), item.key()) == known.end())
      fail(ErrorCode::BadInput,
           "tokenizer.json: {}: the key {} is there, expected only {}: it is {}",
           where.empty() ? "the file" : where, quote(item.key()), fmt::join(known, ", "), whatNext);
}

const Json *FieldReader::get(const char *key) const {
  auto found = object.find(key);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

const Json &FieldReader::need(const char *key) const {
  const Json *value = get(key);
  if (!value)
    fail(ErrorCode::BadInput,
         "tokenizer.json: {} is missing, expected it to be there: the file is incomplete, or of a "
         "kind that is {}",
         path(key), whatNext);
  return *value;
}

const Json &FieldReader::array(const char *key, size_t longest) const {
  const Json &value = need(key);
  if (!value.is_array())
    wrongType(path(key), value, "an array");
  if (value.size() > longest)
    fail(ErrorCode::BadInput, "tokenizer.json: {} has {} entries, expected at most {}", path(key),
         value.size(), longest);
  return value;
}

std::string FieldReader::text(const char *key) const {
  const Json &value = need(key);
  if (!value.is_string())
    wrongType(path(key), value, "a string");
  return value.get<std::string>();
}

int64_t FieldReader::integer(const char *key) const { return integerOf(need(key), path(key)); }

bool FieldReader::boolean(const char *key, bool otherwise) const {
  const Json *value = get(key);
  if (!value)
    return otherwise;
  if (!value->is_boolean())
    wrongType(path(key), *value, "true or false");
  return value->get<bool>();
}

void FieldReader::mustBeUnset(const char *key) const {
  const Json *value = get(key);
  if (!value || (value->is_string() && value->get_ref<const std::string &>().empty()) ||
      (value->is_number() && value->get<double>() == 0))
    return;
  const Json *type = value->is_object() && value->contains("type") ? &(*value)["type"] : nullptr;
  std::string name = type && type->is_string() ? quote(type->get<std::string>())
                                               : std::string("set (") + value->type_name() + ")";
  fail(ErrorCode::BadInput, "tokenizer.json: {} is {}, expected null: it is {}", path(key), name,
       whatNext);
}

void FieldReader::mustBe(const char *key, bool value) const {
  if (boolean(key, value) != value)
    fail(ErrorCode::BadInput, "tokenizer.json: {} is {}, expected {}: it is {}", path(key), !value,
         value, whatNext);
}

void FieldReader::refuse(const char *key, std::string_view value, std::string_view expected) const {
  fail(ErrorCode::BadInput, "tokenizer.json: {} is {}, expected {}: it is {}", path(key),
       quote(value), expected, whatNext);
}

std::string FieldReader::path(const char *key) const {
  return where.empty() ? std::string(key) : where + "." + key;
}

} // namespace inf
