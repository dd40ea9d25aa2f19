// Models of Llama's shape: norm, attention with rope, norm, gated MLP or experts. What differs from
// one model type to the next is a row of facts; what config.json says goes before it. Keys by which
// a model of these types could compute something else are refused by name.
#include <algorithm>

#include "compiler/frontends/HuggingFace.h"
#include "compiler/frontends/Suggest.h"
#include "compiler/frontends/WeightShapes.h"
#include "runtime/base/Error.h"

namespace inf {
namespace {

enum class Biases {
  None,
  ByConfig, ///< `attention_bias`: q, k, v and o
  Qkv       ///< q, k and v, always
};
enum class Windows {
  None,
  All,        ///< `sliding_window` on every layer
  FromLayer,  ///< with `use_sliding_window`, on the layers from `max_window_layers` on
  AllOrRefuse ///< with `use_sliding_window` on every layer; a bound that readers ignore is refused
};

/// What a model type takes for granted.
struct Family {
  const char *architecture;
  Biases biases = Biases::None;
  Windows windows = Windows::None;
  bool mlpBias = false; ///< `mlp_bias` is read; else it must be false
  bool qkNorm = false;
  bool statesHeadDim = false;   ///< `head_dim` is required; else hidden / heads
  bool headsAreKvHeads = false; ///< without num_key_value_heads every head has its own
  RopeDefaults rope = {true, std::nullopt};
};

void expectSilu(JsonObject &config) {
  const std::string activation = config.text("hidden_act", "silu");
  if (activation != "silu" && activation != "swish") // two names of one function
    fail(ErrorCode::BadInput, "{}: unknown activation {}; known: silu",
         config.at("hidden_act").text(), quoteShort(activation));
}

/// Keys of relatives of these models, any of which changes the result.
void refuseWhatIsNotThere(JsonObject &config, const Family &family) {
  for (std::string_view key :
       {"quantization_config", "attn_logit_softcapping", "final_logit_softcapping",
        "query_pre_attn_scalar", "attention_multiplier", "clip_qkv", "embedding_size",
        "shared_expert_intermediate_size", "per_layer_config"})
    expectAbsent(config, key);
  for (std::string_view key : {"partial_rotary_factor", "rotary_pct", "logit_scale",
                               "logits_scaling", "embedding_multiplier", "residual_multiplier"})
    expectNeutral(config, key, 1.0);
  for (std::string_view key :
       {"rope_interleaved", "rope_interleave", "rope_traditional", "use_bidirectional_attention",
        "parallel_attn", "use_parallel_residual"})
    expectNeutral(config, key, false);
  for (std::string_view key :
       {"n_shared_experts", "num_shared_experts", "num_nextn_predict_layers"})
    expectNeutral(config, key, 0.0);
  for (std::string_view key : {"use_qk_norm", "qk_norm", "qk_layernorm"})
    expectNeutral(config, key, family.qkNorm);
  if (family.biases != Biases::ByConfig)
    expectNeutral(config, "attention_bias", family.biases == Biases::Qkv);
  if (!family.mlpBias)
    expectNeutral(config, "mlp_bias", false);
}

uint64_t importHeadDim(JsonObject &config, const Family &family, uint64_t hidden, uint64_t heads) {
  if (config.find("head_dim") || family.statesHeadDim)
    return configDimension(config, "head_dim");
  if (hidden % heads != 0)
    fail(ErrorCode::BadInput, "{}: expected a divisor of hidden_size ({}), found {}; add head_dim",
         config.at("num_attention_heads").text(), hidden, heads);
  return hidden / heads;
}

AttentionDesc importAttention(JsonObject &config, const Family &family, uint64_t hidden) {
  AttentionDesc attention;
  attention.heads = configDimension(config, "num_attention_heads");
  const bool own = family.headsAreKvHeads && !config.find("num_key_value_heads");
  attention.kvHeads = own ? attention.heads : configDimension(config, "num_key_value_heads");
  attention.headDim = importHeadDim(config, family, hidden, attention.heads);
  const bool all = family.biases == Biases::ByConfig && config.flag("attention_bias", false);
  attention.bias = all || family.biases == Biases::Qkv;
  attention.outputBias = all;
  attention.qkNorm = family.qkNorm;
  attention.rope = "main";
  return attention;
}

/// `use_sliding_window` with `sliding_window`, where `max_window_layers` says which layers.
std::vector<bool> windowsByUse(JsonObject &config, const Family &family, uint64_t layers) {
  const bool used = config.flag("use_sliding_window", false) && config.find("sliding_window");
  if (!used)
    return std::vector<bool>(layers, false);
  const uint64_t from = config.count("max_window_layers", 0);
  if (family.windows == Windows::AllOrRefuse && from != 0)
    fail(ErrorCode::BadInput,
         "{}: {} with use_sliding_window is read in two ways; expected 0, or layer_types",
         config.at("max_window_layers").text(), from);
  std::vector<bool> sliding;
  for (uint64_t layer = 0; layer < layers; ++layer)
    sliding.push_back(layer >= from);
  return sliding;
}

/// Whether each layer has the window. Where both speak, `layer_types` goes first.
std::vector<bool> importWindows(JsonObject &config, const Family &family, uint64_t layers) {
  std::vector<bool> sliding(layers, false);
  if (family.windows == Windows::All)
    sliding.assign(layers, config.find("sliding_window"));
  else if (family.windows != Windows::None)
    sliding = windowsByUse(config, family, layers);
  const std::optional<std::vector<bool>> named = slidingLayers(config, layers);
  if (!named)
    return sliding;
  const bool any = std::find(named->begin(), named->end(), true) != named->end();
  if (any && family.windows == Windows::None)
    fail(ErrorCode::BadInput, "{}: expected full_attention alone for {}",
         config.at("layer_types").text(), family.architecture);
  return *named;
}

/// One layer: which kind of attention, and whether experts.
struct LayerKind {
  bool sliding = false, experts = false;
};

/// "layer" when all are alike, else by what tells them apart: "sliding", "full_dense", ...
std::string kindName(LayerKind kind, bool windowsDiffer, bool mlpsDiffer) {
  std::string name = windowsDiffer ? (kind.sliding ? "sliding" : "full") : "";
  if (mlpsDiffer)
    name += std::string(name.empty() ? "" : "_") + (kind.experts ? "experts" : "dense");
  return name.empty() ? "layer" : name;
}

template <typename Member> bool differ(const std::vector<LayerKind> &kinds, Member member) {
  return std::any_of(kinds.begin(), kinds.end(),
                     [&](const LayerKind &kind) { return kind.*member != kinds.front().*member; });
}

/// Fills layers and blocks; `mlp` and `moe` are what a layer of either kind has.
void addLayers(JsonObject &config, ModelDesc &desc, const AttentionDesc &attention,
               const std::vector<LayerKind> &kinds, const MlpDesc &mlp, const MoeDesc &moe) {
  const bool windows = differ(kinds, &LayerKind::sliding),
             mlps = differ(kinds, &LayerKind::experts);
  for (const LayerKind &kind : kinds) {
    const std::string name = kindName(kind, windows, mlps);
    desc.layers.push_back(name);
    if (desc.blocks.count(name))
      continue;
    BlockDesc &block = desc.blocks[name];
    block.attention = attention;
    if (kind.sliding)
      block.attention.window = configDimension(config, "sliding_window");
    if (kind.experts)
      block.moe = moe;
    else
      block.mlp = mlp;
  }
}

void addAttentionRules(ModelDesc &desc, const HuggingFaceModel &model,
                       const AttentionDesc &attention) {
  const std::string tensor = model.prefix + "layers.{layer}.self_attn.";
  const std::string weight = "layers.{layer}.attention.";
  addPlainRule(desc, model, weight + "norm.weight",
               model.prefix + "layers.{layer}.input_layernorm.weight");
  for (const std::string linear : {"q", "k", "v", "o"}) {
    addPlainRule(desc, model, weight + linear + ".weight", tensor + linear + "_proj.weight");
    if (linear == "o" ? attention.outputBias : attention.bias)
      addPlainRule(desc, model, weight + linear + ".bias", tensor + linear + "_proj.bias");
  }
  if (attention.qkNorm)
    for (const std::string norm : {"q_norm", "k_norm"})
      addPlainRule(desc, model, weight + norm + ".weight", tensor + norm + ".weight");
}

void addMlpRules(ModelDesc &desc, const HuggingFaceModel &model, bool bias) {
  const std::string tensor = model.prefix + "layers.{layer}.", weight = "layers.{layer}.mlp.";
  addPlainRule(desc, model, weight + "norm.weight", tensor + "post_attention_layernorm.weight");
  for (const std::string kind : {".weight", ".bias"}) {
    if (kind == ".bias" && !bias)
      continue;
    addRule(desc, weight + "gate_up" + kind, [&](uint64_t layer) {
      TensorRule rule;
      for (const std::string name : {"mlp.gate_proj", "mlp.up_proj"}) {
        WeightPart &part = rule.parts.emplace_back();
        part.tensor = tensor + name + kind;
        part.stored = storedAs(model, atLayer(part.tensor, layer));
      }
      return rule;
    });
    addPlainRule(desc, model, weight + "down" + kind, tensor + "mlp.down_proj" + kind);
  }
}

/// Router and experts below layers.N.`place`.
void addMoeRules(ModelDesc &desc, const HuggingFaceModel &model, const std::string &place,
                 ExpertNames names) {
  const std::string tensor = model.prefix + "layers.{layer}.", weight = "layers.{layer}.moe.";
  addPlainRule(desc, model, weight + "norm.weight", tensor + "post_attention_layernorm.weight");
  addPlainRule(desc, model, weight + "router.weight", tensor + place + "gate.weight");
  names.experts = tensor + place + "experts.{expert}.";
  names.stacked = tensor + place + "experts.";
  addExpertRules(desc, model, weight, names);
}

void importFacts(HuggingFaceModel &model, ModelDesc &desc, const Family &family) {
  JsonObject &config = model.config;
  desc.architecture = family.architecture;
  desc.vocabulary = configDimension(config, "vocab_size");
  desc.hidden = configDimension(config, "hidden_size");
  desc.maxContext = configDimension(config, "max_position_embeddings");
  desc.normEps = config.number("rms_norm_eps");
  desc.tiedEmbeddings = importTied(model);
  desc.ropes["main"] = importRope(config, family.rope);
  expectSilu(config);
  refuseWhatIsNotThere(config, family);
}

void addOuterRules(ModelDesc &desc, const HuggingFaceModel &model) {
  addPlainRule(desc, model, "embedding.weight", model.prefix + "embed_tokens.weight");
  addPlainRule(desc, model, "final_norm.weight", model.prefix + "norm.weight");
  if (!desc.tiedEmbeddings)
    addPlainRule(desc, model, "lm_head.weight", model.head);
}

std::vector<LayerKind> kindsOf(const std::vector<bool> &sliding, bool experts) {
  std::vector<LayerKind> kinds;
  for (bool window : sliding)
    kinds.push_back({window, experts});
  return kinds;
}

void importDense(HuggingFaceModel &model, ModelDesc &desc, const Family &family) {
  JsonObject &config = model.config;
  importFacts(model, desc, family);
  const AttentionDesc attention = importAttention(config, family, desc.hidden);
  MlpDesc mlp;
  mlp.intermediate = configDimension(config, "intermediate_size");
  mlp.bias = family.mlpBias && config.flag("mlp_bias", false);
  const std::vector<bool> sliding = importWindows(config, family, layerCount(config));
  addLayers(config, desc, attention, kindsOf(sliding, false), mlp, {});
  addOuterRules(desc, model);
  addAttentionRules(desc, model, attention);
  addMlpRules(desc, model, mlp.bias);
}

/// The layers of qwen3_moe that have experts: every `decoder_sparse_step`-th, but for those of
/// `mlp_only_layers`.
std::vector<bool> sparseLayers(JsonObject &config, uint64_t layers) {
  const uint64_t every = config.count("decoder_sparse_step", 1);
  if (every == 0)
    fail(ErrorCode::BadInput, "{}: expected 1 or more, found 0",
         config.at("decoder_sparse_step").text());
  std::vector<bool> sparse;
  for (uint64_t layer = 0; layer < layers; ++layer)
    sparse.push_back((layer + 1) % every == 0);
  const Json *dense = config.find("mlp_only_layers");
  const JsonPlace place = config.at("mlp_only_layers");
  for (size_t i = 0; dense && i < jsonArray(*dense, place).size(); ++i) {
    const uint64_t layer = jsonCount((*dense)[i], place.item(i));
    if (layer >= layers)
      fail(ErrorCode::BadInput, "{}: expected a layer below {}, found {}", place.item(i).text(),
           layers, layer);
    sparse[layer] = false;
  }
  return sparse;
}

} // namespace

void importLlama(HuggingFaceModel &model, ModelDesc &desc) {
  importDense(model, desc,
              {.architecture = "llama",
               .biases = Biases::ByConfig,
               .mlpBias = true,
               .headsAreKvHeads = true,
               .rope = {true, 10000}});
}

void importMistral(HuggingFaceModel &model, ModelDesc &desc) {
  importDense(model, desc, {.architecture = "mistral", .windows = Windows::All});
}

void importQwen2(HuggingFaceModel &model, ModelDesc &desc) {
  importDense(model, desc,
              {.architecture = "qwen2", .biases = Biases::Qkv, .windows = Windows::FromLayer});
}

void importQwen3(HuggingFaceModel &model, ModelDesc &desc) {
  importDense(model, desc,
              {.architecture = "qwen3",
               .biases = Biases::ByConfig,
               .windows = Windows::FromLayer,
               .qkNorm = true,
               .statesHeadDim = true});
}

void importMixtral(HuggingFaceModel &model, ModelDesc &desc) {
  const Family family{.architecture = "mixtral", .windows = Windows::All};
  JsonObject &config = model.config;
  importFacts(model, desc, family);
  const AttentionDesc attention = importAttention(config, family, desc.hidden);
  MoeDesc moe;
  moe.experts = configDimension(config, "num_local_experts");
  moe.topK = configDimension(config, "num_experts_per_tok");
  moe.intermediate = configDimension(config, "intermediate_size");
  const std::vector<bool> sliding = importWindows(config, family, layerCount(config));
  addLayers(config, desc, attention, kindsOf(sliding, true), {}, moe);
  addOuterRules(desc, model);
  addAttentionRules(desc, model, attention);
  // Newer checkpoints with stacked experts call the place mlp.
  const bool newer =
      model.checkpoint && model.checkpoint->find(model.prefix + "layers.0.mlp.gate.weight");
  addMoeRules(desc, model, newer ? "mlp." : "block_sparse_moe.",
              {"", "", "w1.weight", "w3.weight", "w2.weight"});
}

void importQwen3Moe(HuggingFaceModel &model, ModelDesc &desc) {
  const Family family{.architecture = "qwen3_moe",
                      .biases = Biases::ByConfig,
                      .windows = Windows::AllOrRefuse,
                      .qkNorm = true,
                      .statesHeadDim = true};
  JsonObject &config = model.config;
  importFacts(model, desc, family);
  const AttentionDesc attention = importAttention(config, family, desc.hidden);
  MoeDesc moe;
  moe.experts = countOfEither(config, "num_experts", "num_local_experts");
  moe.topK = configDimension(config, "num_experts_per_tok");
  moe.intermediate = configDimension(config, "moe_intermediate_size");
  moe.normalizeTopK = jsonFlag(config.require("norm_topk_prob"), config.at("norm_topk_prob"));
  MlpDesc mlp;
  mlp.intermediate = configDimension(config, "intermediate_size");
  const uint64_t layers = layerCount(config);
  const std::vector<bool> sliding = importWindows(config, family, layers);
  const std::vector<bool> sparse = sparseLayers(config, layers);
  std::vector<LayerKind> kinds;
  for (uint64_t layer = 0; layer < layers; ++layer)
    kinds.push_back({sliding[layer], sparse[layer]});
  addLayers(config, desc, attention, kinds, mlp, moe);
  addOuterRules(desc, model);
  addAttentionRules(desc, model, attention);
  if (std::find(sparse.begin(), sparse.end(), true) != sparse.end())
    addMoeRules(desc, model, "mlp.",
                {"", "", "gate_proj.weight", "up_proj.weight", "down_proj.weight"});
  if (std::find(sparse.begin(), sparse.end(), false) != sparse.end())
    addMlpRules(desc, model, false);
}

} // namespace inf
