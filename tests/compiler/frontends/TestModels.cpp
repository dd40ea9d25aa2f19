#include "tests/compiler/frontends/TestModels.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

namespace inf::test {

namespace fs = std::filesystem;

TempDir::TempDir() {
  std::string name = (fs::temp_directory_path() / "inf-frontends-XXXXXX").string();
  if (!mkdtemp(name.data()))
    throw std::runtime_error("mkdtemp failed for " + name);
  root = name;
}

TempDir::~TempDir() {
  std::error_code error;
  fs::remove_all(root, error);
}

void TempDir::write(const std::string &name, const std::string &text) const {
  fs::create_directories(fs::path(file(name)).parent_path());
  std::ofstream(file(name), std::ios::binary) << text;
}

void TempDir::copy(const std::string &from, const std::string &name) const {
  fs::copy_file(from, file(name));
}

std::string inSource(const std::string &relative) {
  return (fs::path(INF_SOURCE_DIR) / relative).lexically_normal().string();
}

nlohmann::json publishedConfig() {
  nlohmann::json layerTypes = nlohmann::json::array();
  for (int i = 0; i < 24; ++i)
    layerTypes.push_back(i % 2 == 0 ? "sliding_attention" : "full_attention");
  nlohmann::json config = nlohmann::json::parse(R"({
    "architectures": ["GptOssForCausalLM"], "attention_bias": true, "attention_dropout": 0.0,
    "eos_token_id": 200002, "experts_per_token": 4, "head_dim": 64, "hidden_act": "silu",
    "hidden_size": 2880, "initial_context_length": 4096, "initializer_range": 0.02,
    "intermediate_size": 2880, "max_position_embeddings": 131072, "model_type": "gpt_oss",
    "num_attention_heads": 64, "num_experts_per_tok": 4, "num_hidden_layers": 24,
    "num_key_value_heads": 8, "num_local_experts": 32, "output_router_logits": false,
    "pad_token_id": 199999,
    "quantization_config": {"quant_method": "mxfp4", "modules_to_not_convert": ["lm_head"]},
    "rms_norm_eps": 1e-05,
    "rope_scaling": {"beta_fast": 32.0, "beta_slow": 1.0, "factor": 32.0,
                     "original_max_position_embeddings": 4096, "rope_type": "yarn",
                     "truncate": false},
    "rope_theta": 150000, "router_aux_loss_coef": 0.9, "sliding_window": 128,
    "swiglu_limit": 7.0, "tie_word_embeddings": false, "use_cache": true, "vocab_size": 201088})");
  config["layer_types"] = layerTypes;
  return config;
}

nlohmann::json publishedGenerationConfig() {
  return nlohmann::json::parse(R"({"bos_token_id": 199998, "do_sample": true,
    "eos_token_id": [200002, 199999, 200012], "pad_token_id": 199999})");
}

nlohmann::json smallConfig() {
  nlohmann::json config = publishedConfig();
  config.update(nlohmann::json::parse(R"({
    "vocab_size": 40, "hidden_size": 64, "intermediate_size": 32, "num_hidden_layers": 2,
    "layer_types": ["sliding_attention", "full_attention"], "num_attention_heads": 4,
    "num_key_value_heads": 2, "head_dim": 8, "num_local_experts": 4, "num_experts_per_tok": 2,
    "experts_per_token": 2, "eos_token_id": 3})"));
  return config;
}

ModelDesc denseModel() {
  ModelDesc desc;
  desc.name = "dense";
  desc.architecture = "llama";
  desc.vocabulary = 50;
  desc.hidden = 32;
  desc.maxContext = 256;
  desc.tiedEmbeddings = true;
  desc.ropes["plain"] = {};
  BlockDesc block;
  block.attention.heads = 4;
  block.attention.kvHeads = 4;
  block.attention.headDim = 8;
  block.attention.scale = 0.3;
  block.attention.rope = "plain";
  block.mlp = MlpDesc{48, false, {}};
  desc.blocks["layer"] = block;
  desc.layers = {"layer", "layer", "layer"};
  auto rule = [](std::initializer_list<const char *> tensors) {
    TensorRule result;
    for (const char *tensor : tensors)
      result.parts.push_back({tensor, "", WeightFormat::F32, 0, false, false});
    return result;
  };
  desc.tensors = {{"embedding.weight", rule({"embed"})},
                  {"layers.{layer}.attention.norm.weight", rule({"{layer}.norm1"})},
                  {"layers.{layer}.attention.q.weight", rule({"{layer}.q"})},
                  {"layers.{layer}.attention.k.weight", rule({"{layer}.k"})},
                  {"layers.{layer}.attention.v.weight", rule({"{layer}.v"})},
                  {"layers.{layer}.attention.o.weight", rule({"{layer}.o"})},
                  {"layers.{layer}.mlp.norm.weight", rule({"{layer}.norm2"})},
                  {"layers.{layer}.mlp.gate_up.weight", rule({"{layer}.gate", "{layer}.up"})},
                  {"layers.{layer}.mlp.down.weight", rule({"{layer}.down"})},
                  {"final_norm.weight", rule({"norm"})}};
  return desc;
}

namespace {

struct ZeroTensor {
  DType dtype;
  std::vector<uint64_t> shape;
};

void addZeros(const WeightDecl &decl, const WeightPart &part, const PartTensors &names,
              std::map<std::string, ZeroTensor> &tensors) {
  std::vector<uint64_t> shape;
  if (names.experts > 1)
    shape = {names.experts};
  if (part.stored == WeightFormat::MXFP4) {
    shape.insert(shape.end(), {part.rows, decl.columns / 32});
    tensors[names.scales] = {DType::U8, shape};
    shape.push_back(16);
    tensors[names.tensor] = {DType::U8, shape};
    return;
  }
  shape.push_back(part.rows);
  if (!decl.isVector())
    shape.insert(shape.end() - (part.transposed ? 1 : 0), decl.columns);
  tensors[names.tensor] = {part.stored == WeightFormat::BF16  ? DType::BF16
                           : part.stored == WeightFormat::F16 ? DType::F16
                                                              : DType::F32,
                           shape};
}

std::map<std::string, ZeroTensor> zeroTensors(const std::vector<WeightDecl> &decls) {
  std::map<std::string, ZeroTensor> tensors;
  for (const WeightDecl &decl : decls)
    for (const WeightPart &part : decl.parts)
      for (const PartTensors &names : tensorsOf(decl, part))
        addZeros(decl, part, names, tensors);
  return tensors;
}

} // namespace

void writeZeroCheckpoint(const TempDir &directory, const std::vector<WeightDecl> &decls,
                         const Retype &retype) {
  std::vector<TensorToWrite> tensors;
  const std::vector<uint8_t> zeros(1 << 20);
  for (const auto &[name, tensor] : zeroTensors(decls)) {
    DType dtype = retype ? retype(name, tensor.dtype) : tensor.dtype;
    uint64_t bytes = dtypeBytes(dtype);
    for (uint64_t dimension : tensor.shape)
      bytes *= dimension;
    ASSERT_LE(bytes, zeros.size());
    tensors.push_back({name, dtype, tensor.shape, std::span(zeros).first(bytes)});
  }
  writeSafetensors(directory.file("model.safetensors"), tensors);
}

std::string errorOf(ErrorCode code, const std::function<void()> &action) {
  try {
    action();
  } catch (const Error &error) {
    EXPECT_EQ(static_cast<int>(error.code), static_cast<int>(code)) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "expected an Error, nothing was thrown";
  return "";
}

} // namespace inf::test
