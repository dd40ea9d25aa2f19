// A tiny writer of GGUF files for tests: everything in it may be wrong on purpose.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace inf::test {

/// Numbers of value types and tensor types, spelled out again: the code under test has its own.
enum GgufValueType : uint32_t {
  gu8 = 0,
  gi8 = 1,
  gu16 = 2,
  gi16 = 3,
  gu32 = 4,
  gi32 = 5,
  gf32 = 6,
  gbool = 7,
  gstring = 8,
  garray = 9,
  gu64 = 10,
  gi64 = 11,
  gf64 = 12
};
enum GgufTensorNumber : uint32_t {
  tF32 = 0,
  tF16 = 1,
  tQ4_0 = 2,
  tQ4_1 = 3,
  tQ8_0 = 8,
  tQ4_K = 12,
  tQ5_K = 13,
  tQ6_K = 14,
  tBF16 = 30,
  tMXFP4 = 39
};

/// The bytes of a number.
template <typename T> std::string raw(T value) {
  return {reinterpret_cast<const char *>(&value), sizeof(value)};
}
/// A string as GGUF has it: length, bytes.
std::string rawText(const std::string &text);

class GgufBuilder {
public:
  struct Value {
    std::string key;
    uint32_t type;
    std::string bytes;
  };
  struct Tensor {
    std::string name;
    std::vector<uint64_t> dimensions; ///< fastest first, as in the file
    uint32_t type;
    std::string bytes;
  };

  std::string magic = "GGUF";
  uint32_t version = 3;
  uint64_t alignment = 32;
  std::vector<Value> values;
  std::vector<Tensor> tensors;

  /// Adds a value, or replaces that of the same key.
  GgufBuilder &set(const std::string &key, uint32_t type, const std::string &bytes);
  GgufBuilder &number(const std::string &key, uint32_t value);
  GgufBuilder &real(const std::string &key, float value);
  GgufBuilder &flag(const std::string &key, bool value);
  GgufBuilder &text(const std::string &key, const std::string &value);
  GgufBuilder &texts(const std::string &key, const std::vector<std::string> &items);
  GgufBuilder &integers(const std::string &key, const std::vector<int32_t> &items);
  GgufBuilder &remove(const std::string &key);

  /// With random finite data.
  GgufBuilder &tensor(const std::string &name, std::vector<uint64_t> dimensions, uint32_t type,
                      std::mt19937_64 &random);
  Tensor &at(const std::string &name);
  void removeTensor(const std::string &name);

  /// The file up to the data, and the whole file; it ends with the last tensor's last byte.
  std::string header() const;
  std::string file() const;
};

/// Random blocks of a tensor type with small finite values.
std::string randomTensor(uint32_t type, uint64_t elements, std::mt19937_64 &random);

/// gpt-oss with the names, keys and types of the published MXFP4 file; hidden 64, two layers.
GgufBuilder smallGptOss();
/// llama, dense, without output.weight's own tied copy; hidden 256, two layers, Q8_0 matrices.
GgufBuilder smallLlama();
/// qwen2 (with biases), qwen3 or qwen3moe (with norms of heads, 4 experts of which 2), or "llama"
/// with experts as Mixtral has them; hidden 64, heads of 24, two layers, F32.
GgufBuilder smallRelative(const std::string &architecture);

} // namespace inf::test
