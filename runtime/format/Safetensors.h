// The safetensors container: header length (u64 LE), JSON header, tensor bytes.
// A file is hostile until checked: see SafetensorsFile::open.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/format/WeightSource.h"

namespace inf {

enum class DType { Bool, U8, I8, I16, I32, I64, U16, U32, U64, F16, BF16, F32, F64 };
std::string_view dtypeName(DType dtype); ///< as safetensors spells it: "BF16"
uint64_t dtypeBytes(DType dtype);

struct TensorInfo {
  std::string name;
  DType dtype = DType::F32;
  std::vector<uint64_t> shape;
  uint64_t offset = 0; ///< in the file
  uint64_t bytes = 0;
};

/// One mapped file. open() refuses: shorter than its header, header longer than the file, JSON that
/// is not an object of tensors, duplicate names, unknown dtype, negative or reversed or overlapping
/// offsets, holes or trailing bytes, shape x dtype != bytes, dimensions whose product overflows.
class SafetensorsFile {
public:
  static SafetensorsFile open(const std::string &path);
  SafetensorsFile(SafetensorsFile &&) noexcept;
  SafetensorsFile &operator=(SafetensorsFile &&) noexcept;
  ~SafetensorsFile();

  const std::vector<TensorInfo> &tensors() const; ///< in file order
  const TensorInfo *find(std::string_view name) const;
  std::span<const uint8_t> data(const TensorInfo &tensor) const;
  const std::string &path() const;
  void forget() const; ///< MappedFile::forget

private:
  struct Impl;
  explicit SafetensorsFile(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl;
};

/// A checkpoint directory: model.safetensors, or the shards named by model.safetensors.index.json
/// (plain file names only: no "..", no "/"). A tensor in two shards, a missing shard, a tensor the
/// index names in a shard that lacks it are refused by name.
class Checkpoint : public WeightSource {
public:
  static std::unique_ptr<Checkpoint> open(const std::string &directory);
  ~Checkpoint() override;

  std::vector<const TensorInfo *> tensors() const; ///< all shards, by name
  const TensorInfo *find(std::string_view name) const;
  std::span<const uint8_t> data(std::string_view name) const;
  void read(const std::string &tensor, uint64_t offset, std::span<uint8_t> out) const override;
  void forget() const override;

private:
  Checkpoint();
  struct Impl;
  std::unique_ptr<Impl> impl;
};

struct TensorToWrite {
  std::string name;
  DType dtype = DType::F32;
  std::vector<uint64_t> shape;
  std::span<const uint8_t> bytes;
};
/// Written beside, then renamed.
void writeSafetensors(const std::string &path, const std::vector<TensorToWrite> &tensors);

} // namespace inf
