// Reading JSON from files nobody vouches for: every access checks the type and says where in which
// file it failed; keys nobody asked for can be refused by name.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace inf {

using Json = nlohmann::json;

/// A whole regular file of at most 4 MiB. Fails with Io (missing, unreadable) or BadInput (too
/// large, not a regular file).
std::string readJsonFile(const std::string &path);

/// Parses `text`; `source` names it in messages. Fails with BadInput on a syntax error, nesting
/// deeper than 32, a key given twice, text that is not UTF-8, or a number beyond a double's range.
Json parseJson(const std::string &text, const std::string &source);

/// What is wrong with a document, when all of it is wanted at once.
using JsonProblems = std::vector<std::string>;

/// A place in a JSON document, for messages: "config.json: rope_scaling.factor".
struct JsonPlace {
  std::string source, path;
  /// Where set, missing keys, wrong types and unknown keys below this place are noted here instead
  /// of failing, and reading goes on with 1, false or "". Whoever set it fails in the end.
  JsonProblems *problems = nullptr;
  JsonPlace child(std::string_view key) const;
  JsonPlace item(size_t index) const;
  std::string text() const;
};

/// Notes the message where the place collects problems, else fails with BadInput.
void refuseAt(const JsonPlace &place, const std::string &message);
/// The last of the problems, as an Error; nothing when there are none.
void failIfAny(JsonProblems *problems);

// Each fails with BadInput ("expected a whole number, found a string ...") at `place`.
uint64_t jsonCount(const Json &value, const JsonPlace &place); ///< whole, 0 .. 2^64-1
double jsonNumber(const Json &value, const JsonPlace &place);  ///< finite
bool jsonFlag(const Json &value, const JsonPlace &place);
std::string jsonText(const Json &value, const JsonPlace &place);
const Json &jsonArray(const Json &value, const JsonPlace &place);
/// Finite numbers, at most `most` of them.
std::vector<double> jsonNumbers(const Json &value, const JsonPlace &place, size_t most);
[[noreturn]] void failType(const Json &value, const JsonPlace &place, std::string_view expected);

/// An object under reading. It remembers which keys were asked for, so that at the end the others
/// can be refused. The JSON value must outlive it.
class JsonObject {
public:
  enum class Nulls {
    Values, ///< null is a value like others (and mostly of the wrong type)
    Absent  ///< a key whose value is null counts as not there (Hugging Face's habit)
  };
  JsonObject(const Json &value, JsonPlace place, Nulls nulls = Nulls::Values);

  const Json *find(std::string_view key);         ///< nullptr when absent
  const Json *findRequired(std::string_view key); ///< nullptr when absent and noted
  const Json &require(std::string_view key);
  uint64_t count(std::string_view key);
  uint64_t count(std::string_view key, uint64_t fallback);
  double number(std::string_view key);
  double number(std::string_view key, double fallback);
  std::optional<double> optionalNumber(std::string_view key);
  bool flag(std::string_view key, bool fallback);
  std::string text(std::string_view key);
  std::string text(std::string_view key, std::string_view fallback);
  JsonObject object(std::string_view key);

  const Json &json() const { return *value; }
  JsonPlace at(std::string_view key) const { return place.child(key); }
  const JsonPlace &here() const { return place; }
  /// Fails with BadInput naming the first key that was never asked for and the nearest that was.
  void refuseUnknownKeys() const;

private:
  const Json *value;
  JsonPlace place;
  Nulls nulls;
  std::vector<std::string> known;
};

} // namespace inf
