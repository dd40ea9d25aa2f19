#include "compiler/frontends/gguf/Metadata.h"

#include <charconv>
#include <cmath>
#include <cstring>

#include "compiler/frontends/Limits.h"
#include "compiler/frontends/Suggest.h"
#include "runtime/base/Error.h"

namespace inf {
namespace {

template <typename T> T load(const uint8_t *bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(T));
  return value;
}

/// An integer of any width; nullopt for other types and for values beyond int64.
std::optional<int64_t> integerAt(GgufType type, const uint8_t *bytes) {
  switch (type) {
  case GgufType::U8:
    return load<uint8_t>(bytes);
  case GgufType::I8:
    return load<int8_t>(bytes);
  case GgufType::U16:
    return load<uint16_t>(bytes);
  case GgufType::I16:
    return load<int16_t>(bytes);
  case GgufType::U32:
    return load<uint32_t>(bytes);
  case GgufType::I32:
    return load<int32_t>(bytes);
  case GgufType::I64:
    return load<int64_t>(bytes);
  case GgufType::U64:
    if (const auto value = load<uint64_t>(bytes); value <= uint64_t(INT64_MAX))
      return int64_t(value);
    return std::nullopt;
  default:
    return std::nullopt;
  }
}

double sameDecimal(float value) {
  const std::string digits = fmt::format("{}", value);
  double result = value;
  std::from_chars(digits.data(), digits.data() + digits.size(), result);
  return result;
}

} // namespace

void GgufMetadata::refuse(const std::string &key, const std::string &what) const {
  fail(ErrorCode::BadInput, "{}: {} {}", file.path(), quoteShort(key), what);
}

const GgufValue *GgufMetadata::find(const std::string &key) {
  asked.insert(key);
  return file.find(key);
}

bool GgufMetadata::has(const std::string &key) { return find(key); }

std::optional<uint64_t> GgufMetadata::optionalCount(const std::string &key, uint64_t largest) {
  const GgufValue *value = find(key);
  if (!value)
    return std::nullopt;
  const auto integer = integerAt(value->type, value->bytes.data());
  if (!integer || *integer < 0 || uint64_t(*integer) > largest)
    refuse(key, fmt::format("is {}, expected an integer from 0 to {}",
                            integer ? std::to_string(*integer)
                                    : "of type " + std::string(ggufTypeName(value->type)),
                            largest));
  return uint64_t(*integer);
}

uint64_t GgufMetadata::dimension(const std::string &key) {
  const auto count = optionalCount(key, maxDimension);
  if (!count)
    refuse(key, "is missing, and has no default");
  if (*count == 0)
    refuse(key, fmt::format("is 0, expected 1 to {}", maxDimension));
  return *count;
}

uint64_t GgufMetadata::dimension(const std::string &key, uint64_t absent) {
  return has(key) ? dimension(key) : absent;
}

std::optional<double> GgufMetadata::optionalNumber(const std::string &key) {
  const GgufValue *value = find(key);
  if (!value)
    return std::nullopt;
  double number = NAN;
  if (value->type == GgufType::F32)
    number = sameDecimal(load<float>(value->bytes.data()));
  else if (value->type == GgufType::F64)
    number = load<double>(value->bytes.data());
  if (!std::isfinite(number))
    refuse(key, fmt::format("is {} of type {}, expected a finite f32 or f64", number,
                            ggufTypeName(value->type)));
  return number;
}

double GgufMetadata::number(const std::string &key) {
  const auto value = optionalNumber(key);
  if (!value)
    refuse(key, "is missing, and has no default");
  return *value;
}

std::optional<bool> GgufMetadata::optionalFlag(const std::string &key) {
  const GgufValue *value = find(key);
  if (!value)
    return std::nullopt;
  if (value->type != GgufType::Bool)
    refuse(key, fmt::format("is of type {}, expected a bool", ggufTypeName(value->type)));
  return value->bytes[0] != 0;
}

std::optional<std::string> GgufMetadata::optionalText(const std::string &key) {
  const GgufValue *value = find(key);
  if (!value)
    return std::nullopt;
  if (value->type != GgufType::String)
    refuse(key, fmt::format("is of type {}, expected a string", ggufTypeName(value->type)));
  return std::string(reinterpret_cast<const char *>(value->bytes.data()), value->bytes.size());
}

std::string GgufMetadata::text(const std::string &key) {
  auto value = optionalText(key);
  if (!value)
    refuse(key, "is missing, and has no default");
  return *value;
}

const GgufValue &GgufMetadata::array(const std::string &key) {
  const GgufValue *value = find(key);
  if (!value)
    refuse(key, "is missing, and has no default");
  if (value->type != GgufType::Array)
    refuse(key, fmt::format("is of type {}, expected an array", ggufTypeName(value->type)));
  return *value;
}

std::vector<std::string_view> GgufMetadata::strings(const std::string &key) {
  const GgufValue &value = array(key);
  if (value.items != GgufType::String)
    refuse(key,
           fmt::format("is an array of {}, expected one of strings", ggufTypeName(value.items)));
  return ggufStrings(value);
}

std::vector<int64_t> GgufMetadata::integers(const std::string &key) {
  const GgufValue &value = array(key);
  const uint64_t size = ggufTypeBytes(value.items);
  std::vector<int64_t> result;
  for (uint64_t i = 0; i < value.count; ++i) {
    const auto integer = integerAt(value.items, value.bytes.data() + i * size);
    if (!integer)
      refuse(key, fmt::format("is an array of {}, expected one of integers that fit 64 bits",
                              ggufTypeName(value.items)));
    result.push_back(*integer);
  }
  return result;
}

std::vector<double> GgufMetadata::numbers(const std::string &key) {
  const GgufValue &value = array(key);
  if (value.items != GgufType::F32 && value.items != GgufType::F64)
    refuse(key,
           fmt::format("is an array of {}, expected one of f32 or f64", ggufTypeName(value.items)));
  std::vector<double> result;
  for (uint64_t i = 0; i < value.count; ++i) {
    const bool isFloat = value.items == GgufType::F32;
    const uint8_t *at = value.bytes.data() + i * ggufTypeBytes(value.items);
    result.push_back(isFloat ? double(load<float>(at)) : load<double>(at));
    if (!std::isfinite(result.back()))
      refuse(key, fmt::format("has {} at {}, expected finite numbers", result.back(), i));
  }
  return result;
}

void GgufMetadata::refuseUnknown(const std::string &prefix) const {
  std::vector<std::string> unknown;
  for (auto at = file.metadata().lower_bound(prefix);
       at != file.metadata().end() && at->first.starts_with(prefix); ++at)
    if (!asked.count(at->first))
      unknown.push_back(quoteShort(at->first));
  if (!unknown.empty())
    fail(ErrorCode::BadInput,
         "{}: {} keys are not known and may change what the model computes: {}", file.path(),
         unknown.size(), firstNames(unknown));
}

} // namespace inf
