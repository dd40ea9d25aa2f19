// Typed access to a file's metadata, with messages that name the key.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/frontends/gguf/GgufFile.h"

namespace inf {

/// Remembers which keys were asked for: a key of the architecture that nobody knows may change what
/// is computed, and must not be dropped in silence. All failures are BadInput naming file and key.
class GgufMetadata {
public:
  explicit GgufMetadata(const GgufFile &ggufFile) : file(ggufFile) {}

  bool has(const std::string &key);
  /// An integer of any width, at most `largest`.
  std::optional<uint64_t> optionalCount(const std::string &key, uint64_t largest);
  /// Required: 1 to maxDimension.
  uint64_t dimension(const std::string &key);
  uint64_t dimension(const std::string &key, uint64_t absent);
  /// Finite. A float becomes the double with the same shortest decimal, so that 1e-5 is 1e-5 as in
  /// the model's own configuration, and not 9.99999975e-6.
  std::optional<double> optionalNumber(const std::string &key);
  double number(const std::string &key);
  std::optional<bool> optionalFlag(const std::string &key);
  std::optional<std::string> optionalText(const std::string &key);
  std::string text(const std::string &key);
  std::vector<std::string_view> strings(const std::string &key);
  std::vector<int64_t> integers(const std::string &key);
  /// An array of f32 or f64, all finite.
  std::vector<double> numbers(const std::string &key);

  /// Keys that change nothing that is computed here.
  void ignore(const std::string &key) { asked.insert(key); }
  /// Fails naming the keys with this prefix that nobody asked for.
  void refuseUnknown(const std::string &prefix) const;
  [[noreturn]] void refuse(const std::string &key, const std::string &what) const;

private:
  const GgufValue *find(const std::string &key);
  const GgufValue &array(const std::string &key);

  const GgufFile &file;
  std::set<std::string> asked;
};

} // namespace inf
