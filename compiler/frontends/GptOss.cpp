// gpt-oss: alternating sliding and full attention with sinks and yarn, a mixture of experts with
// clamped SwiGLU. Experts come as MXFP4 blocks (published) or as plain tensors (finetunes), which
// then hold [experts, columns, rows].
#include "compiler/frontends/HuggingFace.h"
#include "compiler/frontends/Limits.h"
#include "compiler/frontends/Suggest.h"
#include "compiler/frontends/WeightShapes.h"
#include "runtime/base/Error.h"

namespace inf {
namespace {

/// `layer_types`, or sliding and full in turn.
std::vector<std::string> importLayers(JsonObject &config) {
  uint64_t count = layerCount(config);
  std::optional<std::vector<bool>> sliding = slidingLayers(config, count);
  std::vector<std::string> layers;
  for (uint64_t i = 0; i < count; ++i)
    layers.push_back((sliding ? (*sliding)[i] : i % 2 == 0) ? "sliding" : "full");
  return layers;
}

AttentionDesc importAttention(JsonObject &config, bool sliding) {
  AttentionDesc attention;
  attention.heads = configDimension(config, "num_attention_heads");
  attention.kvHeads = configDimension(config, "num_key_value_heads");
  attention.headDim = configDimension(config, "head_dim");
  attention.window = sliding ? configDimension(config, "sliding_window") : 0;
  attention.bias = attention.outputBias = config.flag("attention_bias", true);
  attention.sinks = true;
  attention.rope = "main";
  return attention;
}

MoeDesc importMoe(JsonObject &config) {
  std::string activation = config.text("hidden_act", "silu");
  if (activation != "silu")
    fail(ErrorCode::BadInput, "{}: unknown activation {}; known for gpt_oss: silu",
         config.at("hidden_act").text(), quoteShort(activation));
  MoeDesc moe;
  moe.experts = configDimension(config, "num_local_experts");
  moe.topK = countOfEither(config, "num_experts_per_tok", "experts_per_token");
  moe.intermediate = configDimension(config, "intermediate_size");
  moe.routerBias = moe.expertBias = true;
  moe.activation.type = "swiglu_clamped";
  moe.activation.limit = config.number("swiglu_limit", moe.activation.limit);
  return moe;
}

void importBlocks(JsonObject &config, ModelDesc &desc) {
  MoeDesc moe = importMoe(config);
  for (const std::string &name : desc.layers)
    if (!desc.blocks.count(name))
      desc.blocks[name] = {importAttention(config, name == "sliding"), std::nullopt, moe};
}

/// Whether config.json alone says MXFP4 experts.
bool quantized(JsonObject &config) {
  if (!config.find("quantization_config"))
    return false;
  JsonObject quantization = config.object("quantization_config");
  std::string method = quantization.text("quant_method");
  if (method != "mxfp4")
    fail(ErrorCode::BadInput,
         "{}: unknown quantization {}; known: mxfp4, or none (no quantization_config)",
         quantization.at("quant_method").text(), quoteShort(method));
  return true;
}

/// The experts' matrix `base` ("...gate_up_proj"): the checkpoint's names decide, else config.json.
TensorRule expertRule(const HuggingFaceModel &model, const std::string &base, uint64_t layer,
                      bool mxfp4) {
  WeightPart part;
  if (model.checkpoint) {
    bool blocks = model.checkpoint->find(atLayer(base + "_blocks", layer));
    bool plain = model.checkpoint->find(atLayer(base, layer));
    mxfp4 = blocks || (mxfp4 && !plain);
  }
  if (mxfp4) {
    part.tensor = base + "_blocks";
    part.scales = base + "_scales";
    part.stored = WeightFormat::MXFP4;
  } else {
    part.tensor = base;
    part.stored = storedAs(model, atLayer(base, layer));
    part.transposed = true;
  }
  return {{part}};
}

void addExpertRules(ModelDesc &desc, const HuggingFaceModel &model, bool mxfp4) {
  const std::string experts = model.prefix + "layers.{layer}.mlp.experts.",
                    moe = "layers.{layer}.moe.";
  addRule(desc, moe + "gate_up.weight", [&](uint64_t layer) {
    TensorRule rule = expertRule(model, experts + "gate_up_proj", layer, mxfp4);
    rule.parts.front().interleaved = true;
    return rule;
  });
  addRule(desc, moe + "gate_up.bias", [&](uint64_t layer) {
    WeightPart part;
    part.tensor = experts + "gate_up_proj_bias";
    part.stored = storedAs(model, atLayer(part.tensor, layer));
    part.interleaved = true;
    return TensorRule{{part}};
  });
  addRule(desc, moe + "down.weight",
          [&](uint64_t layer) { return expertRule(model, experts + "down_proj", layer, mxfp4); });
  addPlainRule(desc, model, moe + "down.bias", experts + "down_proj_bias");
}

void addAttentionRules(ModelDesc &desc, const HuggingFaceModel &model, bool bias) {
  const std::string tensor = model.prefix + "layers.{layer}.self_attn.",
                    weight = "layers.{layer}.attention.";
  for (std::string linear : {"q", "k", "v", "o"}) {
    addPlainRule(desc, model, weight + linear + ".weight", tensor + linear + "_proj.weight");
    if (bias)
      addPlainRule(desc, model, weight + linear + ".bias", tensor + linear + "_proj.bias");
  }
  addPlainRule(desc, model, weight + "sinks", tensor + "sinks");
}

void addRules(ModelDesc &desc, const HuggingFaceModel &model, bool bias, bool mxfp4) {
  const std::string tensor = model.prefix + "layers.{layer}.", weight = "layers.{layer}.";
  addPlainRule(desc, model, "embedding.weight", model.prefix + "embed_tokens.weight");
  addPlainRule(desc, model, weight + "attention.norm.weight", tensor + "input_layernorm.weight");
  addAttentionRules(desc, model, bias);
  addPlainRule(desc, model, weight + "moe.norm.weight", tensor + "post_attention_layernorm.weight");
  addPlainRule(desc, model, weight + "moe.router.weight", tensor + "mlp.router.weight");
  addPlainRule(desc, model, weight + "moe.router.bias", tensor + "mlp.router.bias");
  addExpertRules(desc, model, mxfp4);
  addPlainRule(desc, model, "final_norm.weight", model.prefix + "norm.weight");
  if (!desc.tiedEmbeddings)
    addPlainRule(desc, model, "lm_head.weight", model.head);
}

} // namespace

void importGptOss(HuggingFaceModel &model, ModelDesc &desc) {
  JsonObject &config = model.config;
  desc.architecture = "gpt_oss";
  desc.vocabulary = configDimension(config, "vocab_size");
  desc.hidden = configDimension(config, "hidden_size");
  desc.maxContext = configDimension(config, "max_position_embeddings");
  desc.normEps = config.number("rms_norm_eps", desc.normEps);
  desc.tiedEmbeddings = importTied(model);
  desc.ropes["main"] = importRope(config);
  desc.layers = importLayers(config);
  importBlocks(config, desc);
  addRules(desc, model, config.flag("attention_bias", true), quantized(config));
}

} // namespace inf
