// Reading the JSON of a request: each field with its type and range checked, every error naming the
// place, and no field dropped without a word.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "runtime/server/ApiError.h"

namespace inf {

/// Parses a body. Fails with ApiError 400 when it is no JSON object, has a key twice in one object,
/// nests deeper than `deepest`, or has more parts than `mostParts`: what they take in memory is
/// many times their text. Needs no stack for nesting.
nlohmann::json parseRequestBody(std::string_view body, int deepest = 64,
                                size_t mostParts = 4 << 20);

/// Adds a warning that is not there yet.
void warnOnce(std::vector<std::string> &warnings, std::string warning);

/// The fields of one object. A value of null counts as missing everywhere. All methods fail with
/// ApiError 400, naming the field.
class RequestFields {
public:
  /// `where` is the object's JSON pointer; "" is the body. Fails when `value` is no object.
  RequestFields(const nlohmann::json &value, std::string where);

  const nlohmann::json *find(const char *key);
  const nlohmann::json &need(const char *key);
  std::optional<double> number(const char *key, double least, double most);
  std::optional<int64_t> integer(const char *key, int64_t least, int64_t most);
  std::optional<bool> boolean(const char *key);
  std::optional<std::string> string(const char *key);
  std::string needString(const char *key);
  /// One of `allowed`, whose order the message keeps.
  std::optional<std::string> choice(const char *key, std::initializer_list<const char *> allowed);
  /// The elements of an array, at most `most`; empty when missing.
  std::vector<const nlohmann::json *> array(const char *key, size_t most);

  /// A known field that is not implemented and would change the answer: refused unless it is
  /// missing or one of `neutral`.
  void unsupported(const char *key, std::initializer_list<nlohmann::json> neutral,
                   std::string_view instead);
  /// Fails: the value of `key`, which is there, asks for what is not implemented; `expected` is.
  [[noreturn]] void refuse(const char *key, std::string_view code, std::string_view expected) const;
  /// Known fields that cannot change the answer: what answers carry and clients give back.
  void ignore(std::initializer_list<const char *> keys);
  /// Those of ignore() that were there.
  const std::vector<std::string> &ignored() const { return ignoredKeys; }

  /// Says of those of `keys` that are there, not only in form (false, "", empty), that they do
  /// nothing.
  void warnOf(std::initializer_list<const char *> keys, std::vector<std::string> &warnings);

  /// Fails naming a field that nobody asked for.
  void expectNothingElse() const;
  std::string at(std::string_view key) const;

private:
  const nlohmann::json &object;
  const std::string pointer;
  std::set<std::string, std::less<>> asked;
  std::vector<std::string> ignoredKeys;
};

} // namespace inf
