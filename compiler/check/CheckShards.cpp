#include <map>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "compiler/check/Parts.h"
#include "compiler/frontends/Suggest.h"
#include "runtime/base/Error.h"
#include "runtime/format/FileInput.h"
#include "runtime/format/StrictJson.h"

namespace inf {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t largestIndex = 100'000'000;
constexpr char indexName[] = "model.safetensors.index.json", singleName[] = "model.safetensors";

using Places = std::map<std::string, std::string>; ///< tensor -> file name

/// What the index says; entries that are no file of this directory are problems and left out.
Places readIndex(ModelReport &report, const fs::path &path) {
  Places places;
  tryPart(report, "shards", [&] {
    nlohmann::json index =
        parseStrictJson(readWholeFile(path.string(), largestIndex), path.string());
    if (!index.is_object() || !index.contains("weight_map") || !index["weight_map"].is_object())
      fail(ErrorCode::BadInput,
           "{}: no object weight_map, expected tensor names with file names; download it again",
           path.string());
    for (const auto &[tensor, file] : index["weight_map"].items()) {
      std::string name = file.is_string() ? file.get<std::string>() : "";
      bool plain = !name.empty() && name != "." && name != ".." &&
                   name.find_first_of(std::string_view("/\\\0", 3)) == std::string::npos;
      if (plain)
        places[tensor] = name;
      else
        addProblem(report, "shards",
                   fmt::format("{}: tensor {} is said to be in {}, expected a file name of this "
                               "directory",
                               path.string(), quoteShort(tensor), quoteShort(file.dump())));
    }
  });
  return places;
}

void addList(ModelReport &report, const std::string &what, const std::vector<std::string> &names) {
  if (!names.empty())
    addProblem(report, "shards", fmt::format("{} {}: {}", names.size(), what, firstNames(names)));
}

/// Which file holds which tensors, of the files that can be read.
std::map<std::string, std::set<std::string>>
readShards(ModelReport &report, const fs::path &directory, const std::set<std::string> &names) {
  std::map<std::string, std::set<std::string>> held;
  for (const std::string &name : names) {
    std::error_code error;
    if (!fs::exists(directory / name, error)) {
      addProblem(
          report, "shards",
          fmt::format("{} is missing; download the checkpoint again", (directory / name).string()));
      continue;
    }
    tryPart(report, "shards", [&, name = name] {
      SafetensorsFile file = SafetensorsFile::open((directory / name).string());
      for (const TensorInfo &tensor : file.tensors())
        held[name].insert(tensor.name);
    });
  }
  return held;
}

void comparePlaces(ModelReport &report, const Places &places,
                   const std::map<std::string, std::set<std::string>> &held) {
  std::vector<std::string> absent, twice, unlisted;
  for (const auto &[tensor, name] : places)
    if (auto shard = held.find(name); shard != held.end() && !shard->second.count(tensor))
      absent.push_back(fmt::format("{} (in {})", quoteShort(tensor), name));
  std::map<std::string, std::string> first;
  for (const auto &[name, tensors] : held)
    for (const std::string &tensor : tensors) {
      auto [found, added] = first.emplace(tensor, name);
      if (!added)
        twice.push_back(fmt::format("{} (in {} and {})", quoteShort(tensor), found->second, name));
      if (!places.count(tensor))
        unlisted.push_back(fmt::format("{} (in {})", quoteShort(tensor), name));
    }
  addList(report, "tensors of the index are not in their file", absent);
  addList(report, "tensors are in two files", twice);
  addList(report, "tensors are not in the index", unlisted);
}

} // namespace

void checkShards(ModelReport &report, const fs::path &directory) {
  std::error_code error;
  if (fs::exists(directory / singleName, error)) { // as Checkpoint::open: it goes before an index
    tryPart(report, "shards", [&] { SafetensorsFile::open((directory / singleName).string()); });
    return;
  }
  if (!fs::exists(directory / indexName, error))
    return addProblem(report, "shards",
                      fmt::format("{} has neither {} nor {}; the weights are missing",
                                  directory.string(), singleName, indexName));
  Places places = readIndex(report, directory / indexName);
  std::set<std::string> names;
  for (const auto &[tensor, name] : places)
    names.insert(name);
  comparePlaces(report, places, readShards(report, directory, names));
}

} // namespace inf
