// Reading tokenizer.json: fields with their type checked, and unknown ones refused by name.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace inf {

using Json = nlohmann::json;

/// `value` as an integer; beyond int64_t the largest one, which no range admits. Fails with
/// BadInput, naming `path`, for any other type.
int64_t integerOf(const Json &value, const std::string &path);

/// One object of the file and where it is ("model", "added_tokens[3]"), for messages. All methods
/// fail with BadInput.
class FieldReader {
public:
  FieldReader(const Json &json, std::string where);

  /// Refuses a key that is not in `known`: it could change the meaning of the file.
  void onlyKeys(std::initializer_list<std::string_view> known) const;

  /// The value, or null when the key is missing or its value is null.
  const Json *get(const char *key) const;
  const Json &need(const char *key) const;

  /// Every method below fails unless the value has that type. An array must not be longer than
  /// `longest`.
  const Json &array(const char *key, size_t longest = std::numeric_limits<size_t>::max()) const;
  std::string text(const char *key) const;
  int64_t integer(const char *key) const;
  bool boolean(const char *key, bool otherwise) const;

  /// Refuses a key whose value is neither missing, null, "" nor 0: an option not implemented.
  void mustBeUnset(const char *key) const;
  /// Refuses a boolean key that is not `value` (which a missing key means as well).
  void mustBe(const char *key, bool value) const;

  /// Fails, saying that `key`, which is `value`, is not implemented, and what is.
  [[noreturn]] void refuse(const char *key, std::string_view value,
                           std::string_view expected) const;

  /// "model.vocab": where `key` is.
  std::string path(const char *key) const;

private:
  const Json &object;
  std::string where;
};

} // namespace inf
