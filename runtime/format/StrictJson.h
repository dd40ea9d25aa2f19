// JSON that somebody else wrote: duplicate keys, deep nesting and unknown keys are refused, and
// every error names the place ("weights[3].rows").
#pragma once

#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace inf {

/// Parses one JSON text. Fails with BadInput when it is not JSON, has a key twice in one object, or
/// nests deeper than 64. `what` starts the message.
nlohmann::json parseStrictJson(std::string_view text, std::string_view what);

/// Reads the members of one object, each of them required, and knows which were asked for.
class ObjectReader {
public:
  /// `place` names the object in messages. Fails with BadInput when `object` is no object.
  ObjectReader(const nlohmann::json &object, std::string place);

  uint64_t unsignedInteger(const char *key,
                           uint64_t largest = std::numeric_limits<uint64_t>::max());
  int64_t signedInteger(const char *key);
  double finite(const char *key);
  bool boolean(const char *key);
  std::string string(const char *key);
  std::vector<uint64_t> unsignedIntegers(const char *key, uint64_t largest);
  std::vector<int64_t> signedIntegers(const char *key);
  std::vector<double> finites(const char *key);
  std::vector<std::string> strings(const char *key);
  /// The members of an array of objects, in order.
  std::vector<ObjectReader> objects(const char *key);
  ObjectReader object(const char *key);

  /// Fails naming a key that nobody asked for.
  void expectNothingElse() const;
  /// Fails with BadInput: "PLACE.key: what; ...".
  [[noreturn]] void refuse(std::string_view key, const std::string &what) const;

private:
  const nlohmann::json &member(const char *key);
  const nlohmann::json &array(const char *key);

  const nlohmann::json *value;
  std::string place;
  std::set<std::string> asked;
};

} // namespace inf
