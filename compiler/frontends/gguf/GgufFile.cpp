#include "compiler/frontends/gguf/GgufFile.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "compiler/frontends/Suggest.h"
#include "runtime/base/Error.h"
#include "runtime/format/Checked.h"

namespace inf {
namespace {

static_assert(std::endian::native == std::endian::little, "GGUF is read as it lies");

constexpr unsigned deepestArray = 4;
constexpr uint64_t mostDimensions = 4;
constexpr uint64_t largestKey = 65535; // the specification's limit

/// Reads forward through the bytes; every refusal says where.
class ByteReader {
public:
  ByteReader(const std::string &filePath, std::span<const uint8_t> fileBytes)
      : path(filePath), bytes(fileBytes) {}

  uint64_t position() const { return at; }

  std::span<const uint8_t> take(uint64_t count, std::string_view what) {
    if (count > bytes.size() - at)
      fail(ErrorCode::BadInput,
           "{}: {} at byte {} has {} bytes, expected at most the {} that the file still has; the "
           "file is cut short or damaged, download it again",
           path, what, at, count, bytes.size() - at);
    at += count;
    return bytes.subspan(at - count, count);
  }

  template <typename T> T number(std::string_view what) {
    T value;
    std::memcpy(&value, take(sizeof(T), what).data(), sizeof(T));
    return value;
  }

  std::span<const uint8_t> string(std::string_view what) {
    return take(number<uint64_t>(what), what);
  }

  template <typename... Args>
  [[noreturn]] void refuse(fmt::format_string<Args...> format, Args &&...args) const {
    fail(ErrorCode::BadInput, "{}: byte {}: {}", path, at,
         fmt::format(format, std::forward<Args>(args)...));
  }

private:
  const std::string &path;
  std::span<const uint8_t> bytes;
  uint64_t at = 0;
};

std::string textOf(std::span<const uint8_t> bytes) {
  return {reinterpret_cast<const char *>(bytes.data()), bytes.size()};
}

GgufType readType(ByteReader &reader) {
  const auto number = reader.number<uint32_t>("a value's type");
  if (number > uint32_t(GgufType::F64))
    reader.refuse("value type {}, expected 0 to {}; the file is damaged, or of a newer format",
                  number, uint32_t(GgufType::F64));
  return GgufType(number);
}

void skipItems(ByteReader &reader, GgufType type, uint64_t count, unsigned depth);

/// The header of an array and its items. `depth` counts the arrays around it.
GgufValue readArray(ByteReader &reader, unsigned depth) {
  if (depth >= deepestArray)
    reader.refuse("arrays nest deeper than {}; the file is damaged", deepestArray);
  GgufValue value;
  value.type = GgufType::Array;
  value.items = readType(reader);
  value.count = reader.number<uint64_t>("the length of an array");
  ByteReader start = reader;
  skipItems(reader, value.items, value.count, depth + 1);
  value.bytes = start.take(reader.position() - start.position(), "an array");
  return value;
}

void skipItems(ByteReader &reader, GgufType type, uint64_t count, unsigned depth) {
  if (const uint64_t size = ggufTypeBytes(type)) {
    uint64_t bytes = 0;
    if (__builtin_mul_overflow(count, size, &bytes))
      reader.refuse("an array of {} numbers; the file is damaged", count);
    reader.take(bytes, "an array");
    return;
  }
  for (uint64_t i = 0; i < count; ++i) { // each takes bytes: the file's end bounds this
    if (type == GgufType::String)
      reader.string("a string");
    else
      readArray(reader, depth);
  }
}

GgufValue readValue(ByteReader &reader) {
  const GgufType type = readType(reader);
  if (type == GgufType::Array)
    return readArray(reader, 0);
  GgufValue value;
  value.type = type;
  value.bytes = type == GgufType::String ? reader.string("a string")
                                         : reader.take(ggufTypeBytes(type), "a number");
  if (type == GgufType::Bool && value.bytes[0] > 1)
    reader.refuse("a bool of {}, expected 0 or 1; the file is damaged", value.bytes[0]);
  return value;
}

/// Tensors as described, before their data is found.
struct Description {
  GgufTensor tensor;
  uint64_t offset = 0, bytes = 0; ///< offset from the start of the data
};

void readShape(ByteReader &reader, GgufTensor &tensor) {
  const auto dimensions = reader.number<uint32_t>("a tensor's dimensions");
  if (dimensions == 0 || dimensions > mostDimensions)
    reader.refuse("tensor {} has {} dimensions, expected 1 to {}", quoteShort(tensor.name),
                  dimensions, mostDimensions);
  for (uint32_t i = 0; i < dimensions; ++i)
    tensor.shape.push_back(reader.number<uint64_t>("a tensor's dimension"));
  std::reverse(tensor.shape.begin(), tensor.shape.end()); // the file has the fastest first
}

const GgufTensorType *readTensorType(ByteReader &reader, const GgufTensor &tensor) {
  const auto number = reader.number<uint32_t>("a tensor's type");
  const GgufTensorType *type = findTensorType(number);
  if (!type || !type->isRead())
    reader.refuse("tensor {} has type {} ({}); read are {}: convert the file to one of these",
                  quoteShort(tensor.name), number, type ? type->name : "unknown",
                  readTensorTypes());
  return type;
}

uint64_t bytesOf(ByteReader &reader, const GgufTensor &tensor) {
  uint64_t elements = 1, bytes = 0;
  bool fits = true;
  for (uint64_t dimension : tensor.shape)
    fits = fits && dimension > 0 && !__builtin_mul_overflow(elements, dimension, &elements);
  fits = fits && !__builtin_mul_overflow(elements / tensor.type->blockElements,
                                         tensor.type->blockBytes, &bytes);
  if (!fits)
    reader.refuse("tensor {} has the shape [{}], expected no 0 and a size that a file can have",
                  quoteShort(tensor.name), fmt::join(tensor.shape, ", "));
  if (tensor.columns() % tensor.type->blockElements != 0)
    reader.refuse("tensor {} of {} has rows of {}, expected a multiple of {}",
                  quoteShort(tensor.name), tensor.type->name, tensor.columns(),
                  tensor.type->blockElements);
  return bytes;
}

Description readDescription(ByteReader &reader) {
  Description description;
  GgufTensor &tensor = description.tensor;
  tensor.name = textOf(reader.string("a tensor's name"));
  readShape(reader, tensor);
  tensor.type = readTensorType(reader, tensor);
  description.offset = reader.number<uint64_t>("a tensor's offset");
  description.bytes = bytesOf(reader, tensor);
  return description;
}

struct Counts {
  uint64_t tensors, values;
};

Counts readHeader(ByteReader &reader) {
  const auto magic = reader.take(4, "the magic");
  if (textOf(magic) != "GGUF")
    reader.refuse("starts with {}, expected \"GGUF\"; it is no GGUF file",
                  quoteShort(textOf(magic)));
  const auto version = reader.number<uint32_t>("the version");
  if (version == 0x02000000 || version == 0x03000000)
    reader.refuse("the file is big-endian, expected little-endian; convert it again");
  if (version != 2 && version != 3)
    reader.refuse("GGUF version {}, expected 2 or 3; convert the model again", version);
  const auto tensors = reader.number<uint64_t>("the number of tensors");
  return {tensors, reader.number<uint64_t>("the number of metadata values")};
}

/// general.alignment; 32 when there is none.
uint64_t alignmentOf(ByteReader &reader, const GgufValue *value) {
  if (!value)
    return 32;
  uint32_t alignment = 0;
  if (value->type == GgufType::U32)
    std::memcpy(&alignment, value->bytes.data(), sizeof(alignment));
  if (!std::has_single_bit(alignment))
    reader.refuse("general.alignment is {} ({}), expected a power of two as u32", alignment,
                  ggufTypeName(value->type));
  return alignment;
}

/// `sorted` by offset.
void refuseOverlaps(const std::string &path, const std::vector<const Description *> &sorted) {
  for (size_t i = 1; i < sorted.size(); ++i)
    if (sorted[i]->offset < sorted[i - 1]->offset + sorted[i - 1]->bytes)
      fail(ErrorCode::BadInput,
           "{}: tensors {} and {} overlap at offset {}; the file is damaged, download it again",
           path, quoteShort(sorted[i - 1]->tensor.name), quoteShort(sorted[i]->tensor.name),
           sorted[i]->offset);
}

/// Finds the data of all tensors, which starts at the next aligned byte.
void placeTensors(const std::string &path, std::span<const uint8_t> file, uint64_t end,
                  uint64_t alignment, std::vector<Description> &tensors) {
  const uint64_t start = std::min<uint64_t>(alignUp(end, alignment, path), file.size());
  const std::span<const uint8_t> data = file.subspan(start);
  std::vector<const Description *> sorted;
  for (Description &description : tensors) {
    if (description.offset % alignment != 0 ||
        !rangeInside(description.offset, description.bytes, data.size()))
      fail(ErrorCode::BadInput,
           "{}: tensor {} has {} bytes at offset {}, expected a multiple of {} and an end within "
           "the {} bytes of data; the file is cut short or damaged, download it again",
           path, quoteShort(description.tensor.name), description.bytes, description.offset,
           alignment, data.size());
    description.tensor.bytes = data.subspan(description.offset, description.bytes);
    sorted.push_back(&description);
  }
  std::sort(sorted.begin(), sorted.end(),
            [](const Description *a, const Description *b) { return a->offset < b->offset; });
  refuseOverlaps(path, sorted);
}

} // namespace

std::string_view ggufTypeName(GgufType type) {
  constexpr std::string_view names[] = {"u8",   "i8",     "u16",   "i16", "u32", "i32", "f32",
                                        "bool", "string", "array", "u64", "i64", "f64"};
  return names[uint32_t(type)];
}

uint64_t ggufTypeBytes(GgufType type) {
  constexpr uint8_t bytes[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
  return bytes[uint32_t(type)];
}

GgufFile::GgufFile(const std::string &path) : filePath(path), file(path) {
  ByteReader reader(filePath, file.bytes());
  const Counts counts = readHeader(reader);
  for (uint64_t i = 0; i < counts.values; ++i) { // the file's end bounds both loops
    std::string key = textOf(reader.string("a key"));
    if (key.empty() || key.size() > largestKey)
      reader.refuse("a key of {} bytes, expected 1 to {}", key.size(), largestKey);
    if (!values.emplace(key, readValue(reader)).second)
      reader.refuse("key {} is there twice, expected once", quoteShort(key));
  }
  std::vector<Description> descriptions;
  for (uint64_t i = 0; i < counts.tensors; ++i)
    descriptions.push_back(readDescription(reader));
  placeTensors(path, file.bytes(), reader.position(),
               alignmentOf(reader, find("general.alignment")), descriptions);
  for (Description &description : descriptions) {
    std::string name = description.tensor.name;
    if (!byName.emplace(name, std::move(description.tensor)).second)
      reader.refuse("tensor {} is there twice, expected once", quoteShort(name));
  }
}

const GgufValue *GgufFile::find(std::string_view key) const {
  const auto found = values.find(key);
  return found == values.end() ? nullptr : &found->second;
}

const GgufTensor *GgufFile::findTensor(std::string_view name) const {
  const auto found = byName.find(name);
  return found == byName.end() ? nullptr : &found->second;
}

std::vector<std::string_view> ggufStrings(const GgufValue &array) {
  std::vector<std::string_view> strings;
  strings.reserve(array.count); // each takes at least 8 bytes of the file
  const uint8_t *at = array.bytes.data();
  for (uint64_t i = 0; i < array.count; ++i) {
    uint64_t length = 0;
    std::memcpy(&length, at, sizeof(length));
    at += sizeof(length);
    strings.emplace_back(reinterpret_cast<const char *>(at), length);
    at += length;
  }
  return strings;
}

} // namespace inf
