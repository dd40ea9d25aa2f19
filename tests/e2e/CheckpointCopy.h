// A copy of gpt-oss-tiny that tests damage.
#pragma once

#include <functional>
#include <string>

#include <nlohmann/json.hpp>

#include "tests/e2e/Program.h"
#include "tests/runtime/format/TestSupport.h"

namespace inf::test {

class CheckpointCopy {
public:
  CheckpointCopy();

  std::string path(const std::string &name = "") const { return folder / ("model/" + name); }

  void editJson(const std::string &name, const std::function<void(nlohmann::ordered_json &)> &edit);
  /// `edit` may change the header and the tensors' bytes; offsets are the header's.
  void editShard(
      const std::string &name,
      const std::function<void(nlohmann::ordered_json &header, std::vector<uint8_t> &data)> &edit);
  void cutFile(const std::string &name, uint64_t bytes);

  /// Compiles it. Must be refused with `code` and `parts`, and leave nothing in the output's
  /// folder.
  void expectRefusal(int code, const std::vector<std::string> &parts);

private:
  /// Other files are links to the model's: a copy first.
  void own(const std::string &name);
  TempFolder folder;
};

inline constexpr char firstShard[] = "model-00001-of-00002.safetensors";
inline constexpr char secondShard[] = "model-00002-of-00002.safetensors";
inline constexpr char shardIndex[] = "model.safetensors.index.json";

} // namespace inf::test
