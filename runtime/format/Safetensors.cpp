#include "runtime/format/Safetensors.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <tuple>
#include <unordered_map>

#include <fmt/format.h>

#include "runtime/base/Error.h"
#include "runtime/format/Checked.h"
#include "runtime/format/FileInput.h"
#include "runtime/format/StrictJson.h"

namespace inf {
namespace {

struct DTypeRow {
  DType dtype;
  const char *name;
  uint64_t bytes;
};

constexpr DTypeRow dtypes[] = {
    {DType::Bool, "BOOL", 1}, {DType::U8, "U8", 1},     {DType::I8, "I8", 1},
    {DType::I16, "I16", 2},   {DType::I32, "I32", 4},   {DType::I64, "I64", 8},
    {DType::U16, "U16", 2},   {DType::U32, "U32", 4},   {DType::U64, "U64", 8},
    {DType::F16, "F16", 2},   {DType::BF16, "BF16", 2}, {DType::F32, "F32", 4},
    {DType::F64, "F64", 8},
};

const DTypeRow &rowOf(DType dtype) {
  for (const DTypeRow &row : dtypes)
    if (row.dtype == dtype)
      return row;
  fail(ErrorCode::Internal, "dtype {}, expected 0..{}", int(dtype), std::size(dtypes) - 1);
}

/// The limit of the format's own reference reader: no real header comes near it.
constexpr uint64_t largestHeader = 100'000'000;

DType dtypeOf(ObjectReader &reader) {
  const std::string name = reader.string("dtype");
  for (const DTypeRow &row : dtypes)
    if (name == row.name)
      return row.dtype;
  reader.refuse("dtype", fmt::format("'{}', expected one of BOOL, U8 .. U64, I8 .. I64, F16, BF16, "
                                     "F32, F64",
                                     name));
}

/// One entry of the header. `dataStart`, `dataBytes`: the file's data region.
TensorInfo readTensor(const std::string &path, const std::string &name, const nlohmann::json &entry,
                      uint64_t dataStart, uint64_t dataBytes) {
  ObjectReader reader(entry, fmt::format("{}: tensor '{}'", path, name));
  TensorInfo tensor;
  tensor.name = name;
  tensor.dtype = dtypeOf(reader);
  tensor.shape = reader.unsignedIntegers("shape", UINT64_MAX);
  const auto offsets = reader.unsignedIntegers("data_offsets", UINT64_MAX);
  reader.expectNothingElse();
  if (offsets.size() != 2)
    reader.refuse("data_offsets", fmt::format("{} numbers, expected 2", offsets.size()));
  if (offsets[0] > offsets[1] || offsets[1] > dataBytes)
    reader.refuse("data_offsets", fmt::format("[{}, {}], expected begin <= end <= {}", offsets[0],
                                              offsets[1], dataBytes));
  uint64_t bytes = dtypeBytes(tensor.dtype);
  for (uint64_t dimension : tensor.shape)
    bytes = checkedMultiply(bytes, dimension, fmt::format("{}: tensor '{}'", path, name));
  tensor.offset = dataStart + offsets[0];
  tensor.bytes = offsets[1] - offsets[0];
  if (tensor.bytes != bytes)
    reader.refuse("data_offsets",
                  fmt::format("{} bytes, expected {} for shape [{}] of {}", tensor.bytes, bytes,
                              fmt::join(tensor.shape, ", "), dtypeName(tensor.dtype)));
  return tensor;
}

/// `tensors` by offset: each must start where the one before it ends, the last at the file's end.
void checkGapless(const std::string &path, const std::vector<TensorInfo> &tensors,
                  uint64_t dataStart, uint64_t fileBytes) {
  uint64_t end = dataStart;
  for (const TensorInfo &tensor : tensors) {
    if (tensor.offset != end)
      fail(ErrorCode::BadInput,
           "{}: tensor '{}' starts at byte {}, expected {} where the one before it ends ({}); the "
           "file is damaged, download it again",
           path, tensor.name, tensor.offset, end, tensor.offset < end ? "they overlap" : "a hole");
    end = tensor.offset + tensor.bytes;
  }
  if (end != fileBytes)
    fail(ErrorCode::BadInput,
         "{}: the tensors end at byte {}, expected the file's end at {}; the file is damaged, "
         "download it again",
         path, end, fileBytes);
}

void checkMetadata(const std::string &path, const nlohmann::json &metadata) {
  if (!metadata.is_object())
    fail(ErrorCode::BadInput, "{}: __metadata__ is {}, expected an object of strings", path,
         metadata.type_name());
  for (const auto &item : metadata.items())
    if (!item.value().is_string())
      fail(ErrorCode::BadInput, "{}: __metadata__.{} is {}, expected a string", path, item.key(),
           item.value().type_name());
}

std::vector<TensorInfo> readHeader(const std::string &path, std::span<const uint8_t> bytes) {
  uint64_t headerBytes = 0;
  if (bytes.size() < sizeof(headerBytes))
    fail(ErrorCode::BadInput,
         "{}: {} bytes, expected a safetensors file of at least {}; download it again", path,
         bytes.size(), sizeof(headerBytes));
  std::memcpy(&headerBytes, bytes.data(), sizeof(headerBytes));
  if (headerBytes > bytes.size() - sizeof(headerBytes) || headerBytes > largestHeader)
    fail(
        ErrorCode::BadInput,
        "{}: header of {} bytes, expected at most the {} that follow and {}; the file is cut short "
        "or not safetensors, download it again",
        path, headerBytes, bytes.size() - sizeof(headerBytes), largestHeader);
  const uint64_t dataStart = sizeof(headerBytes) + headerBytes;
  const auto header = parseStrictJson(
      {reinterpret_cast<const char *>(bytes.data()) + sizeof(headerBytes), headerBytes}, path);
  if (!header.is_object())
    fail(ErrorCode::BadInput, "{}: the header is {}, expected an object of tensors", path,
         header.type_name());
  std::vector<TensorInfo> tensors;
  for (const auto &item : header.items()) {
    if (item.key() == "__metadata__")
      checkMetadata(path, item.value());
    else
      tensors.push_back(
          readTensor(path, item.key(), item.value(), dataStart, bytes.size() - dataStart));
  }
  std::sort(tensors.begin(), tensors.end(), [](const TensorInfo &a, const TensorInfo &b) {
    return std::tie(a.offset, a.bytes, a.name) < std::tie(b.offset, b.bytes, b.name);
  });
  checkGapless(path, tensors, dataStart, bytes.size());
  return tensors;
}

} // namespace

std::string_view dtypeName(DType dtype) { return rowOf(dtype).name; }
uint64_t dtypeBytes(DType dtype) { return rowOf(dtype).bytes; }

struct SafetensorsFile::Impl {
  std::string path;
  MappedFile file;
  std::vector<TensorInfo> tensors;
  std::unordered_map<std::string_view, const TensorInfo *> byName;
};

SafetensorsFile::SafetensorsFile(std::unique_ptr<Impl> newImpl) : impl(std::move(newImpl)) {}
SafetensorsFile::SafetensorsFile(SafetensorsFile &&) noexcept = default;
SafetensorsFile &SafetensorsFile::operator=(SafetensorsFile &&) noexcept = default;
SafetensorsFile::~SafetensorsFile() = default;

SafetensorsFile SafetensorsFile::open(const std::string &path) {
  auto impl = std::make_unique<Impl>(Impl{path, MappedFile(path), {}, {}});
  impl->tensors = readHeader(path, impl->file.bytes());
  for (const TensorInfo &tensor : impl->tensors)
    impl->byName.emplace(tensor.name, &tensor);
  return SafetensorsFile(std::move(impl));
}

const std::vector<TensorInfo> &SafetensorsFile::tensors() const { return impl->tensors; }

const TensorInfo *SafetensorsFile::find(std::string_view name) const {
  const auto found = impl->byName.find(name);
  return found == impl->byName.end() ? nullptr : found->second;
}

std::span<const uint8_t> SafetensorsFile::data(const TensorInfo &tensor) const {
  const auto bytes = impl->file.bytes();
  if (!rangeInside(tensor.offset, tensor.bytes, bytes.size()))
    fail(ErrorCode::Internal, "{}: tensor '{}' is of another file", impl->path, tensor.name);
  return bytes.subspan(tensor.offset, tensor.bytes);
}

const std::string &SafetensorsFile::path() const { return impl->path; }

void SafetensorsFile::forget() const { impl->file.forget(); }

} // namespace inf
