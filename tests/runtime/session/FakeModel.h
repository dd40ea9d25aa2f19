// A complete model file made of the fake model's code, and what it must compute.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/format/Payload.h"
#include "runtime/loader/Model.h"

namespace inf::test {

/// Removed with everything in it.
class TempDirectory {
public:
  TempDirectory();
  ~TempDirectory();
  TempDirectory(const TempDirectory &) = delete;
  TempDirectory &operator=(const TempDirectory &) = delete;
  std::string file(const std::string &name) const { return path + "/" + name; }

private:
  std::string path;
};

/// Special tokens of the fake tokenizer; ids 0..255 are single bytes in the order of GPT-2's
/// alphabet.
inline constexpr int32_t endId = 258, returnId = 259, fakeTokens = 260;

struct FakeOptions {
  std::string code = "fake_model"; ///< which variant
  bool weights = true;
  uint64_t seed = 1;                             ///< of the weights
  std::function<void(PayloadContents &)> change; ///< before it is written
};

/// What writeModel is given: a manifest that agrees with the code.
PayloadContents fakeContents();
void writeFakeModel(const std::string &path, const FakeOptions &options = {});
std::shared_ptr<const Model> loadFakeModel(const FakeOptions &options = {});

/// The state of the fake model after `tokens`, computed directly: no blocks, no tables, no threads.
/// Only the weights are taken from `model`.
uint32_t expectedState(const Model &model, std::span<const int32_t> tokens);
/// The logits after the last of `tokens`. [FAKE_VOCABULARY]
std::vector<float> expectedLogits(const Model &model, std::span<const int32_t> tokens);

/// Deterministic ids below 256.
std::vector<int32_t> someTokens(size_t count, uint64_t seed);

/// The message of the Error that `action` must throw, with its exit code in front: "3: …".
std::string refusal(const std::function<void()> &action);

} // namespace inf::test
