#include "tests/compiler/frontends/GgufBuilder.h"

#include <algorithm>
#include <stdexcept>

#include "runtime/format/NumberFormats.h"

namespace inf::test {

std::string rawText(const std::string &text) { return raw(uint64_t(text.size())) + text; }

GgufBuilder &GgufBuilder::set(const std::string &key, uint32_t type, const std::string &bytes) {
  for (Value &value : values)
    if (value.key == key) {
      value = {key, type, bytes};
      return *this;
    }
  values.push_back({key, type, bytes});
  return *this;
}

GgufBuilder &GgufBuilder::number(const std::string &key, uint32_t value) {
  return set(key, gu32, raw(value));
}
GgufBuilder &GgufBuilder::real(const std::string &key, float value) {
  return set(key, gf32, raw(value));
}
GgufBuilder &GgufBuilder::flag(const std::string &key, bool value) {
  return set(key, gbool, raw(uint8_t(value)));
}
GgufBuilder &GgufBuilder::text(const std::string &key, const std::string &value) {
  return set(key, gstring, rawText(value));
}

GgufBuilder &GgufBuilder::texts(const std::string &key, const std::vector<std::string> &items) {
  std::string bytes = raw(uint32_t(gstring)) + raw(uint64_t(items.size()));
  for (const std::string &item : items)
    bytes += rawText(item);
  return set(key, garray, bytes);
}

GgufBuilder &GgufBuilder::integers(const std::string &key, const std::vector<int32_t> &items) {
  std::string bytes = raw(uint32_t(gi32)) + raw(uint64_t(items.size()));
  for (int32_t item : items)
    bytes += raw(item);
  return set(key, garray, bytes);
}

GgufBuilder &GgufBuilder::reals(const std::string &key, const std::vector<float> &items) {
  std::string bytes = raw(uint32_t(gf32)) + raw(uint64_t(items.size()));
  for (float item : items)
    bytes += raw(item);
  return set(key, garray, bytes);
}

GgufBuilder &GgufBuilder::remove(const std::string &key) {
  std::erase_if(values, [&](const Value &value) { return value.key == key; });
  return *this;
}

GgufBuilder &GgufBuilder::tensor(const std::string &name, std::vector<uint64_t> dimensions,
                                 uint32_t type, std::mt19937_64 &random) {
  uint64_t elements = 1;
  for (uint64_t dimension : dimensions)
    elements *= dimension;
  tensors.push_back({name, std::move(dimensions), type, randomTensor(type, elements, random)});
  return *this;
}

GgufBuilder::Tensor &GgufBuilder::at(const std::string &name) {
  for (Tensor &tensor : tensors)
    if (tensor.name == name)
      return tensor;
  throw std::runtime_error("no tensor " + name);
}

void GgufBuilder::removeTensor(const std::string &name) {
  std::erase_if(tensors, [&](const Tensor &tensor) { return tensor.name == name; });
}

std::string GgufBuilder::header() const {
  std::string out =
      magic + raw(version) + raw(uint64_t(tensors.size())) + raw(uint64_t(values.size()));
  for (const Value &value : values)
    out += rawText(value.key) + raw(value.type) + value.bytes;
  uint64_t offset = 0;
  for (const Tensor &tensor : tensors) {
    out += rawText(tensor.name) + raw(uint32_t(tensor.dimensions.size()));
    for (uint64_t dimension : tensor.dimensions)
      out += raw(dimension);
    out += raw(tensor.type) + raw(offset);
    offset += (tensor.bytes.size() + alignment - 1) / alignment * alignment;
  }
  return out;
}

std::string GgufBuilder::file() const {
  std::string out = header();
  for (const Tensor &tensor : tensors) {
    out.resize((out.size() + alignment - 1) / alignment * alignment);
    out += tensor.bytes;
  }
  return out;
}

std::string randomTensor(uint32_t type, uint64_t elements, std::mt19937_64 &random) {
  struct Row {
    uint32_t type;
    uint64_t elements, bytes;
    std::vector<uint64_t> halves; ///< where f16 scales lie
  };
  static const Row rows[] = {{tF16, 1, 2, {0}},         {tQ4_0, 32, 18, {0}},
                             {tQ4_1, 32, 20, {0, 2}},   {tQ8_0, 32, 34, {0}},
                             {tQ4_K, 256, 144, {0, 2}}, {tQ5_K, 256, 176, {0, 2}},
                             {tQ6_K, 256, 210, {208}},  {tMXFP4, 32, 17, {}}};
  const auto value = [&] { return float(int64_t(random() % 4001) - 2000) / 1000; };
  std::string out;
  for (uint64_t i = 0; i < elements && (type == tF32 || type == tBF16); ++i)
    out += type == tF32 ? raw(value()) : raw(f32ToBf16(value()));
  for (const Row &row : rows)
    for (uint64_t block = 0; row.type == type && block < elements / row.elements; ++block) {
      std::string bytes(row.bytes, 0);
      for (char &byte : bytes)
        byte = char(random());
      for (uint64_t at : row.halves)
        bytes.replace(at, 2, raw(f32ToF16(value() / 64)));
      if (type == tMXFP4)
        bytes[0] = char(119 + random() % 4);
      out += bytes;
    }
  return out;
}

namespace {

void common(GgufBuilder &file, const std::string &architecture) {
  const std::string p = architecture + ".";
  file.text("general.architecture", architecture).text("general.type", "model");
  file.text("general.name", "small " + architecture).number("general.quantization_version", 2);
  file.number(p + "block_count", 2).number(p + "context_length", 512);
  file.real(p + "attention.layer_norm_rms_epsilon", 1e-5f);
  file.number(p + "attention.head_count", 4).number(p + "attention.head_count_kv", 2);
}

/// Four tokens of bytes, one made by a merge, control tokens to the end.
void tokenizer(GgufBuilder &file, const std::vector<std::string> &control) {
  std::vector<std::string> tokens = {"a", "b", "c", "ab"};
  std::vector<int32_t> types = {1, 1, 1, 1};
  for (const std::string &token : control)
    tokens.push_back(token), types.push_back(3);
  file.text("tokenizer.ggml.model", "gpt2");
  file.texts("tokenizer.ggml.tokens", tokens).integers("tokenizer.ggml.token_type", types);
  file.texts("tokenizer.ggml.merges", {"a b"});
}

} // namespace

GgufBuilder smallGptOss() {
  std::mt19937_64 random(1);
  GgufBuilder file;
  common(file, "gpt-oss");
  const std::string p = "gpt-oss.";
  file.number(p + "embedding_length", 64).number(p + "feed_forward_length", 32);
  file.real(p + "rope.freq_base", 150000);
  file.number(p + "expert_count", 4).number(p + "expert_used_count", 2);
  file.number(p + "attention.key_length", 16).number(p + "attention.value_length", 16);
  file.number(p + "attention.sliding_window", 128).number(p + "expert_feed_forward_length", 32);
  file.text(p + "rope.scaling.type", "yarn").real(p + "rope.scaling.factor", 32);
  file.number(p + "rope.scaling.original_context_length", 4096);
  tokenizer(file, {"<|startoftext|>", "<|endoftext|>", "<|return|>", "<|call|>", "<|end|>"});
  file.text("tokenizer.ggml.pre", "gpt-4o").text("tokenizer.chat_template", "{{ x }}");
  file.number("tokenizer.ggml.bos_token_id", 4).number("tokenizer.ggml.eos_token_id", 6);
  file.tensor("token_embd.weight", {64, 12}, tQ8_0, random);
  for (const std::string b : {"blk.0.", "blk.1."}) {
    for (const std::string norm : {"attn_norm", "post_attention_norm"})
      file.tensor(b + norm + ".weight", {64}, tF32, random);
    for (const std::string linear : {"attn_q", "attn_k", "attn_v", "attn_output"}) {
      const uint64_t rows = linear == "attn_q" || linear == "attn_output" ? 64 : 32;
      file.tensor(b + linear + ".weight", {64, rows}, tQ8_0, random);
      file.tensor(b + linear + ".bias", {rows}, tF32, random);
    }
    file.tensor(b + "attn_sinks.weight", {4}, tF32, random);
    file.tensor(b + "ffn_gate_inp.weight", {64, 4}, tF32, random);
    file.tensor(b + "ffn_gate_inp.bias", {4}, tF32, random);
    for (const std::string linear : {"ffn_gate_exps", "ffn_up_exps", "ffn_down_exps"}) {
      const bool down = linear == "ffn_down_exps";
      const uint64_t rows = down ? 64 : 32, columns = down ? 32 : 64;
      file.tensor(b + linear + ".weight", {columns, rows, 4}, tMXFP4, random);
      file.tensor(b + linear + ".bias", {rows, 4}, tF32, random);
    }
  }
  file.tensor("output_norm.weight", {64}, tF32, random);
  return file.tensor("output.weight", {64, 12}, tQ8_0, random);
}

GgufBuilder smallLlama() {
  std::mt19937_64 random(2);
  GgufBuilder file;
  common(file, "llama");
  const std::string p = "llama.";
  file.number(p + "embedding_length", 256).number(p + "feed_forward_length", 512);
  file.number(p + "rope.dimension_count", 64).real(p + "rope.freq_base", 10000);
  file.number(p + "vocab_size", 8);
  tokenizer(file, {"<|begin_of_text|>", "<|end_of_text|>", "<|eot_id|>"});
  file.text("tokenizer.ggml.pre", "llama-bpe").flag("tokenizer.ggml.add_bos_token", true);
  file.number("tokenizer.ggml.bos_token_id", 4).number("tokenizer.ggml.eos_token_id", 5);
  file.tensor("token_embd.weight", {256, 8}, tQ8_0, random);
  for (const std::string b : {"blk.0.", "blk.1."}) {
    for (const std::string norm : {"attn_norm", "ffn_norm"})
      file.tensor(b + norm + ".weight", {256}, tF32, random);
    for (const std::string linear : {"attn_q", "attn_k", "attn_v", "attn_output"})
      file.tensor(b + linear + ".weight",
                  {256, linear == "attn_k" || linear == "attn_v" ? 128ull : 256ull}, tQ8_0, random);
    for (const std::string linear : {"ffn_gate", "ffn_up"})
      file.tensor(b + linear + ".weight", {256, 512}, tQ8_0, random);
    file.tensor(b + "ffn_down.weight", {512, 256}, tQ8_0, random);
  }
  return file.tensor("output_norm.weight", {256}, tF32, random);
}

GgufBuilder smallRelative(const std::string &architecture) {
  std::mt19937_64 random(3);
  GgufBuilder file;
  common(file, architecture);
  const std::string p = architecture + ".";
  const bool experts = architecture == "qwen3moe" || architecture == "llama";
  file.number(p + "embedding_length", 64).number(p + "feed_forward_length", 96);
  file.number(p + "attention.key_length", 24).number(p + "attention.value_length", 24);
  file.real(p + "rope.freq_base", 1e6f);
  if (experts)
    file.number(p + "expert_count", 4).number(p + "expert_used_count", 2);
  if (architecture == "qwen3moe")
    file.number(p + "expert_feed_forward_length", 32);
  const uint64_t forward = architecture == "qwen3moe" ? 32 : 96;
  tokenizer(file, {"<|endoftext|>", "<|im_start|>", "<|im_end|>"});
  file.text("tokenizer.ggml.pre", "gpt-2").number("tokenizer.ggml.eos_token_id", 6);
  file.tensor("token_embd.weight", {64, 8}, tF32, random);
  for (const std::string b : {"blk.0.", "blk.1."}) {
    for (const std::string norm : {"attn_norm", "ffn_norm"})
      file.tensor(b + norm + ".weight", {64}, tF32, random);
    for (const std::string linear : {"attn_q", "attn_k", "attn_v"}) {
      const uint64_t rows = linear == "attn_q" ? 96 : 48;
      file.tensor(b + linear + ".weight", {64, rows}, tF32, random);
      if (architecture == "qwen2")
        file.tensor(b + linear + ".bias", {rows}, tF32, random);
    }
    file.tensor(b + "attn_output.weight", {96, 64}, tF32, random);
    if (architecture.starts_with("qwen3"))
      for (const std::string norm : {"attn_q_norm", "attn_k_norm"})
        file.tensor(b + norm + ".weight", {24}, tF32, random);
    if (experts)
      file.tensor(b + "ffn_gate_inp.weight", {64, 4}, tF32, random);
    for (const std::string linear : {"ffn_gate", "ffn_up", "ffn_down"}) {
      const uint64_t rows = linear == "ffn_down" ? 64 : forward;
      const uint64_t columns = linear == "ffn_down" ? forward : 64;
      if (experts)
        file.tensor(b + linear + "_exps.weight", {columns, rows, 4}, tF32, random);
      else
        file.tensor(b + linear + ".weight", {columns, rows}, tF32, random);
    }
  }
  file.tensor("output_norm.weight", {64}, tF32, random);
  return file.tensor("output.weight", {64, 8}, tF32, random);
}

} // namespace inf::test
