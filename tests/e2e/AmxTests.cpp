// A model compiled for AMX, whole: what the compiler chose, how the runtime loads and runs it. On a
// machine without AMX its tile instructions are emulated.
#include <gtest/gtest.h>

#include "codegen/Target.h"
#include "runtime/loader/CheckMachine.h"
#include "tests/codegen/TileEmulation.h"
#include "tests/e2e/Models.h"
#include "tests/e2e/Sessions.h"

using namespace inf;
using namespace inf::test;

namespace {

std::unique_ptr<Session> openAmxSession(const std::string &path, unsigned threads) {
  LoadOptions load;
  load.machine = hostMachine();
  load.machine->features = load.machine->features | targetByName("amx").features;
  SessionOptions options;
  options.threads.threads = threads;
  options.threads.pin = false; // tests run beside each other
  return std::make_unique<Session>(Model::load(path, load), options);
}

std::vector<int32_t> someTokens(size_t count) {
  std::vector<int32_t> tokens;
  for (size_t i = 0; i < count; ++i)
    tokens.push_back(int32_t(i * 37 % 1000));
  return tokens;
}

} // namespace

TEST(Amx, aWholeModelGivesTheBitsOfItsVnniTwin) {
  SKIP_UNLESS_RUNS("avx512bf16");
  const std::vector<int32_t> tokens = someTokens(150); // beyond the window; no multiple of a tile
  const AllLogits twin = soloLogits(tinyDefault("avx512vnni"), tokens);
  const std::string model = tinyDefault("amx");
  TileEmulation emulation;
  EXPECT_TRUE(sameBits(twin, prefillLogits(*openAmxSession(model, 1), 0, tokens)));
  EXPECT_TRUE(sameBits(twin, prefillLogits(*openAmxSession(model, 2), 0, tokens, 67)));
  if (!runsHere("amx")) {
    EXPECT_GT(emulation.executed(), 0u) << "no kernel of the model uses tiles";
  }
  EXPECT_FALSE(emulation.isConfigured()) << "tiles stay configured behind the step";
}

TEST(Amx, oneRowAtATimeGivesTheBitsOfAPrompt) {
  SKIP_UNLESS_RUNS("avx512bf16");
  const std::vector<int32_t> tokens = someTokens(40);
  TileEmulation emulation;
  const std::string model = tinyDefault("amx");
  const AllLogits whole = prefillLogits(*openAmxSession(model, 1), 0, tokens);
  EXPECT_TRUE(sameBits(whole, prefillLogits(*openAmxSession(model, 2), 0, tokens, 1)));
}
