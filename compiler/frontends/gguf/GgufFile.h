// The GGUF container, version 2 and 3, little-endian: magic, version, counts, metadata (key, type,
// value), tensor descriptions, tensor data. A file is hostile until checked.
// Source: the GGUF specification of the GGML library (docs/gguf.md).
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/frontends/gguf/TensorTypes.h"
#include "runtime/format/FileInput.h"

namespace inf {

enum class GgufType : uint32_t {
  U8 = 0,
  I8 = 1,
  U16 = 2,
  I16 = 3,
  U32 = 4,
  I32 = 5,
  F32 = 6,
  Bool = 7,
  String = 8,
  Array = 9,
  U64 = 10,
  I64 = 11,
  F64 = 12
};
std::string_view ggufTypeName(GgufType type);
/// Bytes of a number or bool; 0 for strings and arrays.
uint64_t ggufTypeBytes(GgufType type);

/// A metadata value; it lies in the mapped file.
struct GgufValue {
  GgufType type = GgufType::U8;
  GgufType items = GgufType::U8;  ///< of an array
  uint64_t count = 0;             ///< items of an array
  std::span<const uint8_t> bytes; ///< a string without its length, an array's items
};

struct GgufTensor {
  std::string name;
  const GgufTensorType *type = nullptr;
  std::vector<uint64_t> shape;    ///< slowest first: [experts, rows, columns], [rows], ...
  std::span<const uint8_t> bytes; ///< its data

  uint64_t columns() const { return shape.back(); }
  uint64_t elements() const { return bytes.size() / type->blockBytes * type->blockElements; }
};

/// One mapped file. The constructor refuses: another magic, version or byte order; counts, lengths
/// or offsets that leave the file; a key or a tensor twice; unknown types of values (arrays nest at
/// most 4 deep); tensors of types that are not read, without dimensions or with more than 4, with a
/// dimension of 0, rows that are not whole blocks, sizes that overflow, not aligned or overlapping.
class GgufFile {
public:
  explicit GgufFile(const std::string &path);

  const std::string &path() const { return filePath; }
  const std::map<std::string, GgufValue, std::less<>> &metadata() const { return values; }
  const GgufValue *find(std::string_view key) const;
  /// By name.
  const std::map<std::string, GgufTensor, std::less<>> &tensors() const { return byName; }
  const GgufTensor *findTensor(std::string_view name) const;

  void forget() const { file.forget(); } ///< MappedFile::forget

private:
  std::string filePath;
  MappedFile file;
  std::map<std::string, GgufValue, std::less<>> values;
  std::map<std::string, GgufTensor, std::less<>> byName;
};

/// The items of an array of strings, in order; they lie in the mapped file. The value is such an
/// array and has been checked.
std::vector<std::string_view> ggufStrings(const GgufValue &array);

} // namespace inf
