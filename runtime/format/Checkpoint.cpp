#include <cstring>
#include <filesystem>
#include <map>
#include <set>
#include <unordered_map>

#include <fmt/format.h>

#include "runtime/base/Error.h"
#include "runtime/format/Checked.h"
#include "runtime/format/FileInput.h"
#include "runtime/format/Safetensors.h"
#include "runtime/format/StrictJson.h"

namespace inf {
namespace {

namespace fs = std::filesystem;

constexpr char singleName[] = "model.safetensors";
constexpr char indexName[] = "model.safetensors.index.json";
constexpr uint64_t largestIndex = 100'000'000;

/// A name that can only be a file of the directory itself.
bool isPlainFileName(const std::string &name) {
  return !name.empty() && name != "." && name != ".." &&
         name.find_first_of(std::string_view("/\\\0", 3)) == std::string::npos;
}

/// Tensor → shard file name.
std::map<std::string, std::string> readIndex(const std::string &path) {
  const auto index = parseStrictJson(readWholeFile(path, largestIndex), path);
  const auto map = index.is_object() ? index.find("weight_map") : index.end();
  if (map == index.end() || !map->is_object())
    fail(ErrorCode::BadInput,
         "{}: no object weight_map, expected tensor names with file names; "
         "download it again",
         path);
  std::map<std::string, std::string> shards;
  for (const auto &item : map->items()) {
    if (!item.value().is_string())
      fail(ErrorCode::BadInput, "{}: weight_map.{} is {}, expected a file name", path, item.key(),
           item.value().type_name());
    const auto name = item.value().get<std::string>();
    if (!isPlainFileName(name))
      fail(ErrorCode::BadInput,
           "{}: tensor '{}' is said to be in {}, expected a plain file name in the same "
           "directory; do not use this checkpoint",
           path, item.key(), item.value().dump()); // escaped: it may hold a NUL
    shards.emplace(item.key(), name);
  }
  return shards;
}

} // namespace

struct Checkpoint::Impl {
  struct Place {
    const SafetensorsFile *file = nullptr;
    const TensorInfo *tensor = nullptr;
  };

  void addShard(const std::string &path);
  const Place &place(const std::string &name) const;

  std::string directory;
  std::vector<std::unique_ptr<SafetensorsFile>> files;
  std::unordered_map<std::string, Place> tensors;
};

void Checkpoint::Impl::addShard(const std::string &path) {
  files.push_back(std::make_unique<SafetensorsFile>(SafetensorsFile::open(path)));
  const SafetensorsFile &file = *files.back();
  for (const TensorInfo &tensor : file.tensors()) {
    const auto [found, added] = tensors.emplace(tensor.name, Place{&file, &tensor});
    if (!added)
      fail(ErrorCode::BadInput,
           "tensor '{}' is in '{}' and in '{}', expected in one; remove the wrong shard",
           tensor.name, found->second.file->path(), path);
  }
}

const Checkpoint::Impl::Place &Checkpoint::Impl::place(const std::string &name) const {
  const auto found = tensors.find(name);
  if (found == tensors.end())
    fail(ErrorCode::BadInput,
         "checkpoint '{}': no tensor '{}', expected it among its {} tensors; "
         "the model's description and the checkpoint do not belong together",
         directory, name, tensors.size());
  return found->second;
}

Checkpoint::Checkpoint() : impl(std::make_unique<Impl>()) {}
Checkpoint::~Checkpoint() = default;

std::unique_ptr<Checkpoint> Checkpoint::open(const std::string &directory) {
  std::unique_ptr<Checkpoint> checkpoint(new Checkpoint());
  Impl &impl = *checkpoint->impl;
  impl.directory = directory;
  const fs::path folder(directory);
  std::error_code ignored;
  if (fs::exists(folder / singleName, ignored)) {
    impl.addShard((folder / singleName).string());
    return checkpoint;
  }
  if (!fs::exists(folder / indexName, ignored))
    fail(ErrorCode::Io, "'{}' has neither {} nor {}; pass a Hugging Face checkpoint directory",
         directory, singleName, indexName);
  const auto index = readIndex((folder / indexName).string());
  std::set<std::string> shards;
  for (const auto &[tensor, shard] : index)
    if (shards.insert(shard).second && !fs::exists(folder / shard, ignored))
      fail(ErrorCode::Io, "shard '{}' with tensor '{}' is missing; download the checkpoint again",
           (folder / shard).string(), tensor);
  for (const std::string &shard : shards)
    impl.addShard((folder / shard).string());
  for (const auto &[tensor, shard] : index) {
    const auto found = impl.tensors.find(tensor);
    if (found == impl.tensors.end() || found->second.file->path() != (folder / shard).string())
      fail(ErrorCode::BadInput,
           "tensor '{}' is not in '{}', expected there by the index; download the checkpoint again",
           tensor, (folder / shard).string());
  }
  return checkpoint;
}

std::vector<const TensorInfo *> Checkpoint::tensors() const {
  std::map<std::string_view, const TensorInfo *> sorted;
  for (const auto &[name, place] : impl->tensors)
    sorted.emplace(name, place.tensor);
  std::vector<const TensorInfo *> result;
  for (const auto &[name, tensor] : sorted)
    result.push_back(tensor);
  return result;
}

const TensorInfo *Checkpoint::find(std::string_view name) const {
  const auto found = impl->tensors.find(std::string(name));
  return found == impl->tensors.end() ? nullptr : found->second.tensor;
}

std::span<const uint8_t> Checkpoint::data(std::string_view name) const {
  const Impl::Place &place = impl->place(std::string(name));
  return place.file->data(*place.tensor);
}

void Checkpoint::read(const std::string &tensor, uint64_t offset, std::span<uint8_t> out) const {
  const Impl::Place &place = impl->place(tensor);
  if (!rangeInside(offset, out.size(), place.tensor->bytes))
    fail(ErrorCode::BadInput,
         "{}: {} bytes at {} of tensor '{}' asked for, expected a range inside its {} bytes; its "
         "shape or dtype is not what the model's description says",
         place.file->path(), out.size(), offset, tensor, place.tensor->bytes);
  if (!out.empty())
    std::memcpy(out.data(), place.file->data(*place.tensor).data() + offset, out.size());
}

void Checkpoint::forget() const {
  for (const auto &file : impl->files)
    file->forget();
}

} // namespace inf
