// Upper bounds on what a description may ask for, so that a hostile file costs no more than its
// own size. Far above any model that exists.
#pragma once

#include <cstddef>
#include <cstdint>

namespace inf {

/// Every dimension of a model: token ids, rows and positions are 32-bit signed in the step.
inline constexpr uint64_t maxDimension = (uint64_t{1} << 31) - 1;
/// A compact layer list ("repeat") expands to at most this many layers.
inline constexpr uint64_t maxLayers = 1024;
/// All weights of a model in f32; below 2^63 so that offsets fit every signed integer.
inline constexpr uint64_t maxModelBytes = uint64_t{1} << 62;
/// Names of weights are repeated once per layer and part: with these bounds at most some 100 MB.
inline constexpr size_t maxNameBytes = 256;
inline constexpr size_t maxPartsOfWeight = 8;
/// Frequencies of a rope: a head has at most 2^16 features.
inline constexpr size_t maxRopePairs = size_t{1} << 15;
/// Experts of a tensor each: one name with "{expert}" stands for no more tensors than this.
inline constexpr uint64_t maxExpertTensors = 2048;
inline constexpr size_t maxEosTokens = 1024;
/// model.json, config.json, generation_config.json: a parsed value takes some 25 times its text.
inline constexpr size_t maxJsonBytes = size_t{4} << 20;
inline constexpr size_t maxJsonDepth = 32;

} // namespace inf
