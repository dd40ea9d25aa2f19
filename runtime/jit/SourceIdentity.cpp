#include "runtime/jit/SourceIdentity.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <vector>

#include <nlohmann/json.hpp>
#include <xxhash.h>

#include "runtime/abi/inf_abi.h"
#include "runtime/base/Error.h"
#include "runtime/format/FileInput.h"
#include "runtime/format/StrictJson.h"

namespace inf {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t largestByContent = uint64_t{32} << 20;
constexpr char keyVersion[] = "inf cache key 1";

class Hash {
public:
  Hash() : state(XXH3_createState(), &XXH3_freeState) { XXH3_128bits_reset(state.get()); }
  /// With its length, so that moving a byte from one part to the next is a change.
  void add(std::string_view text) {
    add(text.size());
    XXH3_128bits_update(state.get(), text.data(), text.size());
  }
  void add(uint64_t number) { XXH3_128bits_update(state.get(), &number, sizeof number); }
  std::string text() const {
    const XXH128_hash_t hash = XXH3_128bits_digest(state.get());
    return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
  }

private:
  std::unique_ptr<XXH3_state_t, XXH_errorcode (*)(XXH3_state_t *)> state;
};

void addContent(Hash &hash, const std::string &path) {
  const MappedFile file(path);
  hash.add({reinterpret_cast<const char *>(file.bytes().data()), file.bytes().size()});
}

void addFile(Hash &hash, const fs::path &path) {
  struct stat facts;
  if (stat(path.c_str(), &facts) != 0)
    fail(ErrorCode::Io, "cannot read '{}': {}. Check the path and its permissions.", path.string(),
         errnoText(errno));
  hash.add(fs::absolute(path).lexically_normal().string());
  if (static_cast<uint64_t>(facts.st_size) <= largestByContent && facts.st_size != 0)
    return addContent(hash, path.string());
  hash.add(static_cast<uint64_t>(facts.st_size));
  hash.add(static_cast<uint64_t>(facts.st_mtim.tv_sec));
  hash.add(static_cast<uint64_t>(facts.st_mtim.tv_nsec));
  hash.add(static_cast<uint64_t>(facts.st_ino));
}

/// The files of a checkpoint lie side by side.
void addDirectory(Hash &hash, const fs::path &directory) {
  std::error_code error;
  std::vector<fs::path> files;
  for (fs::directory_iterator entry(directory, error), end; !error && entry != end;
       entry.increment(error))
    if (entry->is_regular_file(error) && !error)
      files.push_back(entry->path());
  if (error)
    fail(ErrorCode::Io, "cannot read directory '{}': {}. Check the path and its permissions.",
         directory.string(), error.message());
  std::sort(files.begin(), files.end());
  for (const fs::path &file : files)
    addFile(hash, file);
}

void addPlace(Hash &hash, const fs::path &place) {
  if (fs::is_directory(place))
    addDirectory(hash, place);
  else
    addFile(hash, place);
}

/// Whatever a string of the description may name. Which keys are paths is the compiler's to know;
/// taking in a file too many costs a compile, one too few would give a wrong model.
void addNamedPlaces(Hash &hash, const nlohmann::json &value, const fs::path &base) {
  if (value.is_structured())
    for (const nlohmann::json &item : value)
      addNamedPlaces(hash, item, base);
  if (!value.is_string())
    return;
  std::error_code error;
  const fs::path place = base / value.get<std::string>();
  if (!value.get<std::string>().empty() && fs::exists(place, error) && !error)
    addPlace(hash, place);
}

void addInput(Hash &hash, const std::string &input) {
  addPlace(hash, input);
  if (!input.ends_with(".json") || fs::is_directory(input))
    return;
  constexpr uint64_t largestDescription = uint64_t{4} << 20; // docs/model-json.md
  const nlohmann::json json =
      parseStrictJson(readWholeFile(input, largestDescription), "'" + input + "'");
  addNamedPlaces(hash, json, fs::absolute(input).parent_path());
}

} // namespace

std::string sourceKey(const JitSource &source, const std::string &compilerPath,
                      FeatureSet machine) {
  Hash hash;
  hash.add(keyVersion);
  hash.add(uint64_t{INF_ABI_VERSION});
  addContent(hash, compilerPath);
  for (const std::string *option :
       {&source.target, &source.quant, &source.activations, &source.kv, &source.weights})
    hash.add(*option);
  const bool native = source.target.empty() || source.target == "native";
  hash.add(native ? machine.bits : 0);
  addInput(hash, source.input);
  std::error_code error;
  if (!source.weights.empty() && fs::exists(source.weights, error))
    addPlace(hash, source.weights);
  return hash.text();
}

} // namespace inf
