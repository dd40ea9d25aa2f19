// An engine over the fake model, whose right tokens are known.
#pragma once

#include <memory>

#include <gtest/gtest.h>

#include "runtime/engine/Engine.h"
#include "tests/runtime/engine/RecordingSink.h"
#include "tests/runtime/session/FakeModel.h"
#include "tests/runtime/session/fake_model.h"

namespace inf::test {

class EngineFixture : public testing::Test {
protected:
  explicit EngineFixture(uint32_t sequences, const FakeOptions &fake = {})
      : model(loadFakeModel(fake)) {
    options.sequences = sequences;
    options.queue = 8;
    options.context = 256;
    options.threads.pin = false;
  }

  /// With the options as they are by then.
  void open() { engine = std::make_unique<Engine>(model, options); }

  /// That only its length ends.
  static CompletionRequest request(size_t prompt, uint64_t seed, uint32_t maxTokens) {
    CompletionRequest made;
    made.prompt = someTokens(prompt, seed);
    made.maxTokens = maxTokens;
    made.ignoreEos = true;
    return made;
  }

  std::shared_ptr<const Model> model;
  EngineOptions options;
  std::unique_ptr<Engine> engine;
};

} // namespace inf::test
