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

/// Nothing is rounded: weights as stored, activations and KV in f32, as the golden files were made.
Arguments exactFlags(const std::string &target);
/// gpt-oss-tiny with exactFlags.
std::string tinyExact(const std::string &target, const Arguments &flags = {});
/// gpt-oss-tiny as users get it: weights in int8 and mxfp4, activations in q8, KV in bf16.
std::string tinyDefault(const std::string &target, const Arguments &flags = {});

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
