// Compiled models, each compiled once in a run of this program.
#pragma once

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/e2e/Program.h"

namespace inf::test {

inline const std::string tinyModel = INF_SOURCE_DIR "/models/gpt-oss-tiny";

/// `infc compile input flags... -o FILE`, cached by all of them; the path of FILE. A compile that
/// fails is an inf::Error with its message.
std::string compiled(const std::string &input, const Arguments &flags);

/// gpt-oss-tiny with KV in f32, as the golden files were made.
std::string tinyF32(const std::string &target, const Arguments &flags = {});

/// Whether this CPU runs code for `target`.
bool runsHere(const std::string &target);
/// Of a test that runs once for each target: ".../avx2".
std::string nameOfTarget(const testing::TestParamInfo<const char *> &target);

/// A path under ../shared, which only a team's machines have. Fails when ../shared is there and the
/// file is not; empty when there is no ../shared, and the test must skip.
std::string sharedFile(const std::string &name);

} // namespace inf::test

/// Leaves a test that needs ../shared on a machine without it.
#define SKIP_WITHOUT_SHARED()                                                                      \
  if (inf::test::sharedFile("").empty())                                                           \
  GTEST_SKIP() << "needs ../shared, which is not on this machine"

/// Leaves a test of a target that this CPU lacks.
#define SKIP_UNLESS_RUNS(target)                                                                   \
  if (!inf::test::runsHere(target))                                                                \
  GTEST_SKIP() << "this CPU does not run " << (target)
