#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

#include "compiler/frontends/Limits.h"
#include "compiler/frontends/ModelDesc.h"
#include "compiler/frontends/RopeTypes.h"
#include "compiler/frontends/Suggest.h"
#include "compiler/frontends/WeightShapes.h"
#include "runtime/base/Error.h"

namespace inf {
namespace {

template <typename... Args>
[[noreturn]] void refuse(const std::string &where, fmt::format_string<Args...> format,
                         Args &&...args) {
  fail(ErrorCode::BadInput, "model description: {}: {}", where,
       fmt::format(format, std::forward<Args>(args)...));
}

template <typename Map> std::vector<std::string> keysOf(const Map &map) {
  std::vector<std::string> keys;
  for (const auto &entry : map)
    keys.push_back(entry.first);
  return keys;
}

void checkName(const std::string &where, const std::string &name) {
  auto control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
  if (name.empty() || name.size() > maxNameBytes || std::any_of(name.begin(), name.end(), control))
    refuse(where, "expected a name of 1 to {} bytes without control characters, found {}",
           maxNameBytes, quoteShort(name));
}

void checkDimension(const std::string &where, uint64_t value) {
  if (value == 0 || value > maxDimension)
    refuse(where, "expected 1 to {}, found {}", maxDimension, value);
}

void checkPositive(const std::string &where, double value) {
  if (!(std::isfinite(value) && value > 0))
    refuse(where, "expected a positive finite number, found {}", value);
}

void checkAtLeastOne(const std::string &where, double value) {
  if (!(std::isfinite(value) && value >= 1))
    refuse(where, "expected a finite number of at least 1, found {}", value);
}

void checkYarn(const std::string &where, const RopeDesc &rope) {
  checkPositive(where + ".beta_slow", rope.betaSlow);
  if (!(std::isfinite(rope.betaFast) && rope.betaFast > rope.betaSlow))
    refuse(where + ".beta_fast", "expected a finite number above beta_slow ({}), found {}",
           rope.betaSlow, rope.betaFast);
}

void checkLlama3(const std::string &where, const RopeDesc &rope) {
  checkPositive(where + ".low_frequency_factor", rope.lowFrequencyFactor);
  if (!(std::isfinite(rope.highFrequencyFactor) &&
        rope.highFrequencyFactor > rope.lowFrequencyFactor))
    refuse(where + ".high_frequency_factor",
           "expected a finite number above low_frequency_factor ({}), found {}",
           rope.lowFrequencyFactor, rope.highFrequencyFactor);
}

/// Beyond its original context the frequencies of dynamic would change with the length of the text.
void checkDynamic(const std::string &where, const RopeDesc &rope, const ModelDesc &desc) {
  if (double(desc.maxContext) > rope.originalContext)
    refuse(where + ".original_context",
           "rope type dynamic is known up to the context the model was trained with, found {} with "
           "a max_context of {}; lower max_context, or use yarn",
           rope.originalContext, desc.maxContext);
}

/// One positive divisor for each pair of a head, for every kind of layer that uses the rope.
void checkDivisors(const std::string &where, const std::string &name,
                   const std::vector<double> &divisors, const ModelDesc &desc) {
  for (double divisor : divisors)
    checkPositive(where, divisor);
  for (const auto &[kind, block] : desc.blocks)
    if (block.attention.rope == name && divisors.size() != block.attention.headDim / 2)
      refuse(where, "expected {} numbers, head_dim / 2 of block {}, found {}",
             block.attention.headDim / 2, quoteShort(kind), divisors.size());
}

void checkRope(const std::string &name, const RopeDesc &rope, const ModelDesc &desc) {
  const std::string where = "ropes." + name;
  if (!isRopeType(rope.type))
    refuse(where + ".type", "unknown rope type {}; known: {}", quoteShort(rope.type),
           fmt::join(ropeTypes, ", "));
  if (!(std::isfinite(rope.theta) && rope.theta > 1))
    refuse(where + ".theta", "expected a finite number above 1, found {}", rope.theta);
  if (rope.attentionFactor)
    checkPositive(where + ".attention_factor", *rope.attentionFactor);
  if (rope.type == "divided")
    checkDivisors(where + ".divisors", name, rope.divisors, desc);
  if (rope.type == "default" || rope.type == "divided")
    return;
  checkAtLeastOne(where + ".factor", rope.factor);
  if (rope.type == "linear")
    return;
  checkAtLeastOne(where + ".original_context", rope.originalContext);
  if (rope.type == "dynamic")
    checkDynamic(where, rope, desc);
  if (rope.type == "yarn")
    checkYarn(where, rope);
  if (rope.type == "llama3")
    checkLlama3(where, rope);
  if (rope.type == "longrope") {
    if (rope.originalContext < 2) // its logarithm divides
      refuse(where + ".original_context", "expected 2 or more, found {}", rope.originalContext);
    checkDivisors(where + ".short_factors", name, rope.shortFactors, desc);
    checkDivisors(where + ".long_factors", name, rope.longFactors, desc);
  }
}

void checkAttention(const std::string &where, const AttentionDesc &attention,
                    const ModelDesc &desc) {
  checkDimension(where + ".heads", attention.heads);
  checkDimension(where + ".kv_heads", attention.kvHeads);
  checkDimension(where + ".head_dim", attention.headDim);
  if (attention.heads % attention.kvHeads != 0)
    refuse(where + ".heads", "expected a multiple of kv_heads ({}), found {}", attention.kvHeads,
           attention.heads);
  if (attention.headDim % 8 != 0)
    refuse(where + ".head_dim", "expected a multiple of 8, found {}; other heads have no kernels",
           attention.headDim);
  if (attention.window > maxDimension)
    refuse(where + ".window", "expected 0 (all keys) to {}, found {}", maxDimension,
           attention.window);
  if (attention.scale)
    checkPositive(where + ".scale", *attention.scale);
  if (!desc.ropes.count(attention.rope))
    refuse(where + ".rope", "unknown rope {}{}; defined in \"ropes\": {}",
           quoteShort(attention.rope), suggestion(attention.rope, keysOf(desc.ropes)),
           firstNames(keysOf(desc.ropes)));
}

void checkActivation(const std::string &where, const ActivationDesc &activation) {
  if (activation.type == "swiglu")
    return;
  if (activation.type != "swiglu_clamped")
    refuse(where + ".type", "unknown activation {}; known: swiglu, swiglu_clamped",
           quoteShort(activation.type));
  checkPositive(where + ".limit", activation.limit);
  checkPositive(where + ".alpha", activation.alpha);
}

void checkMoe(const std::string &where, const MoeDesc &moe) {
  checkDimension(where + ".experts", moe.experts);
  if (moe.experts == 1) // a router over one expert routes nothing
    refuse(where + ".experts", "expected 2 or more, found 1; describe the layer with an \"mlp\"");
  checkDimension(where + ".intermediate", moe.intermediate);
  if (moe.topK == 0 || moe.topK > moe.experts)
    refuse(where + ".top_k", "expected 1 to {} (experts), found {}", moe.experts, moe.topK);
  checkActivation(where + ".activation", moe.activation);
}

void checkBlock(const std::string &where, const BlockDesc &block, const ModelDesc &desc) {
  checkAttention(where + ".attention", block.attention, desc);
  if (block.mlp.has_value() == block.moe.has_value())
    refuse(where, "expected exactly one of mlp and moe, found {}", block.mlp ? "both" : "neither");
  if (block.mlp) {
    checkDimension(where + ".mlp.intermediate", block.mlp->intermediate);
    checkActivation(where + ".mlp.activation", block.mlp->activation);
  } else {
    checkMoe(where + ".moe", *block.moe);
  }
}

void checkLayers(const ModelDesc &desc) {
  if (desc.layers.empty() || desc.layers.size() > maxLayers)
    refuse("layers", "expected 1 to {} layers, found {}", maxLayers, desc.layers.size());
  for (size_t i = 0; i < desc.layers.size(); ++i)
    if (!desc.blocks.count(desc.layers[i]))
      refuse(fmt::format("layers[{}]", i), "unknown block {}{}; defined in \"blocks\": {}",
             quoteShort(desc.layers[i]), suggestion(desc.layers[i], keysOf(desc.blocks)),
             firstNames(keysOf(desc.blocks)));
}

void checkToken(const std::string &where, int64_t token, uint64_t vocabulary) {
  if (token < 0 || static_cast<uint64_t>(token) >= vocabulary)
    refuse(where, "expected a token of the vocabulary (0 to {}), found {}", vocabulary - 1, token);
}

void checkTokens(const ModelDesc &desc) {
  if (desc.eosTokens.size() > maxEosTokens)
    refuse("eos_tokens", "expected at most {} tokens, found {}", maxEosTokens,
           desc.eosTokens.size());
  for (size_t i = 0; i < desc.eosTokens.size(); ++i) {
    checkToken(fmt::format("eos_tokens[{}]", i), desc.eosTokens[i], desc.vocabulary);
    if (i > 0 && desc.eosTokens[i] <= desc.eosTokens[i - 1])
      refuse("eos_tokens", "expected ascending tokens, found {} after {}", desc.eosTokens[i],
             desc.eosTokens[i - 1]);
  }
  if (desc.bosToken != -1)
    checkToken("bos_token", desc.bosToken, desc.vocabulary);
}

void checkRule(const std::string &name, const TensorRule &rule) {
  std::string where = "tensors[" + quoteShort(name) + "]";
  checkName(where, name);
  if (rule.parts.empty() || rule.parts.size() > maxPartsOfWeight)
    refuse(where, "expected 1 to {} parts, found {}", maxPartsOfWeight, rule.parts.size());
  for (const WeightPart &part : rule.parts) {
    checkName(where, part.tensor);
    if (!part.scales.empty())
      checkName(where, part.scales);
    if (part.stored != WeightFormat::MXFP4 && !part.scales.empty())
      refuse(where, "scales {} belong to mxfp4 blocks, but the part is stored as {}",
             quoteShort(part.scales), weightFormatName(part.stored));
    if (isBlockFormat(part.stored) && part.transposed)
      refuse(where, "{} blocks cannot be transposed: their 32 values lie along the columns",
             weightFormatName(part.stored));
  }
}

/// Sums the weights in f32 (rows padded as packing does); refuses what does not fit.
class SizeSum {
public:
  void add(const WeightShape &shape, uint64_t layers) {
    uint64_t padded = shape.rows + 2 * panelRows; // two halves, each padded to a panel
    uint64_t bytes = 4;
    for (uint64_t factor : {shape.experts, padded, shape.columns, layers})
      if (__builtin_mul_overflow(bytes, factor, &bytes))
        refuseSize(shape);
    if (__builtin_add_overflow(total, bytes, &total) || total > maxModelBytes)
      refuseSize(shape);
  }

private:
  [[noreturn]] static void refuseSize(const WeightShape &shape) {
    refuse(shape.name, "[{}][{}, {}] makes the model larger than {} bytes; check the dimensions",
           shape.experts, shape.rows, shape.columns, maxModelBytes);
  }
  uint64_t total = 0;
};

void checkSize(const ModelDesc &desc) {
  SizeSum sum;
  for (const WeightShape &shape : headWeights(desc))
    sum.add(shape, 1);
  for (const auto &[name, block] : desc.blocks) {
    auto uses = std::count(desc.layers.begin(), desc.layers.end(), name);
    // An unused block is never read, but its products must fit whoever prints them.
    for (const WeightShape &shape : blockWeights(desc, block))
      sum.add(shape, std::max<uint64_t>(1, static_cast<uint64_t>(uses)));
  }
  for (const WeightShape &shape : tailWeights(desc))
    sum.add(shape, 1);
}

} // namespace

void validate(const ModelDesc &desc) {
  checkName("name", desc.name);
  checkName("architecture", desc.architecture);
  checkDimension("vocabulary", desc.vocabulary);
  checkDimension("hidden", desc.hidden);
  checkDimension("max_context", desc.maxContext);
  if (!(std::isfinite(desc.normEps) && desc.normEps > 0 && desc.normEps < 1))
    refuse("norm_eps", "expected a number above 0 and below 1, found {}", desc.normEps);
  for (const auto &[name, rope] : desc.ropes) {
    checkName("ropes", name);
    checkRope(name, rope, desc);
  }
  for (const auto &[name, block] : desc.blocks) {
    checkName("blocks", name);
    checkBlock("blocks." + name, block, desc);
  }
  checkLayers(desc);
  checkTokens(desc);
  for (const auto &[name, rule] : desc.tensors)
    checkRule(name, rule);
  checkSize(desc);
}

} // namespace inf
