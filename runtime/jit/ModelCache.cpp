#include "runtime/jit/ModelCache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <filesystem>

#include <nlohmann/json.hpp>

#include "runtime/abi/inf_abi.h"
#include "runtime/base/Error.h"
#include "runtime/format/Checksum.h"
#include "runtime/format/FileInput.h"
#include "runtime/format/FileOutput.h"
#include "runtime/format/Payload.h"
#include "runtime/format/StrictJson.h"

namespace inf {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t recordVersion = 1;
constexpr uint64_t largestRecord = uint64_t{1} << 20;

/// What tells a file that nobody touched since.
struct FileFacts {
  uint64_t bytes = 0, seconds = 0, nanoseconds = 0, inode = 0;
  bool operator==(const FileFacts &) const = default;
};

FileFacts factsOf(const struct stat &s) {
  return {static_cast<uint64_t>(s.st_size), static_cast<uint64_t>(s.st_mtim.tv_sec),
          static_cast<uint64_t>(s.st_mtim.tv_nsec), static_cast<uint64_t>(s.st_ino)};
}

struct Record {
  std::string about;
  FileFacts file;
  std::string headChecksum;
};

Record parseRecord(const std::string &path) {
  const nlohmann::json json = parseStrictJson(readWholeFile(path, largestRecord), path);
  ObjectReader reader(json, path);
  if (reader.unsignedInteger("version") != recordVersion)
    reader.refuse("version", "unknown");
  Record record;
  record.about = reader.string("about");
  record.file = {reader.unsignedInteger("bytes"), reader.unsignedInteger("seconds"),
                 reader.unsignedInteger("nanoseconds"), reader.unsignedInteger("inode")};
  record.headChecksum = reader.string("head_checksum");
  reader.expectNothingElse();
  return record;
}

/// Checksum of code, manifest and tokenizer: all that lies before the weights.
std::string headChecksum(const std::string &path) {
  const PayloadInfo info = readPayloadInfo(path, INF_ABI_VERSION);
  const MappedFile file(path);
  const uint64_t head = info.fileOffset + info.header.weightsOffset;
  if (!info.hasWeights() || head > file.bytes().size())
    fail(ErrorCode::BadInput, "{}: no weights in it", path);
  StreamChecksum checksum;
  checksum.add(file.bytes().first(head));
  return fmt::format("{:016x}", checksum.value());
}

FileFacts factsOfFile(const std::string &path) {
  struct stat facts;
  if (stat(path.c_str(), &facts) != 0)
    fail(ErrorCode::Io, "cannot read '{}': {}.", path, errnoText(errno));
  return factsOf(facts);
}

void writeRecord(const std::string &path, const Record &record) {
  const nlohmann::ordered_json json = {{"version", recordVersion},
                                       {"about", record.about},
                                       {"bytes", record.file.bytes},
                                       {"seconds", record.file.seconds},
                                       {"nanoseconds", record.file.nanoseconds},
                                       {"inode", record.file.inode},
                                       {"head_checksum", record.headChecksum}};
  const std::string text =
      json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  AtomicFile file(path, text.size());
  file.append({reinterpret_cast<const uint8_t *>(text.data()), text.size()});
  file.commit();
}

void makeDirectory(const std::string &directory) {
  std::error_code error;
  fs::create_directories(fs::path(directory).parent_path(), error);
  if (mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST)
    fail(ErrorCode::Io, "cannot make the cache '{}': {}.", directory, errnoText(errno));
}

void requireOwn(const std::string &directory) {
  struct stat facts;
  if (stat(directory.c_str(), &facts) != 0 || !S_ISDIR(facts.st_mode))
    fail(ErrorCode::Io, "the cache '{}' is no directory.", directory);
  if (facts.st_uid != geteuid() || (facts.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    fail(ErrorCode::Io,
         "the cache '{}' can be written by others, and what lies in it is run. Choose another "
         "--cache-dir, or make it yours alone (chmod 700).",
         directory);
  if (access(directory.c_str(), W_OK | X_OK) != 0)
    fail(ErrorCode::Io, "the cache '{}' cannot be written: {}.", directory, errnoText(errno));
}

} // namespace

std::string defaultCacheDirectory() {
  const char *base = std::getenv("XDG_CACHE_HOME");
  if (base && *base == '/') // others are to be ignored, says the specification
    return std::string(base) + "/inf";
  const char *home = std::getenv("HOME");
  return home && *home ? std::string(home) + "/.cache/inf" : "";
}

ModelCache::ModelCache(const Options &options) : settings(options) {
  if (settings.directory.empty())
    fail(ErrorCode::Io, "no place for a cache is known: HOME and XDG_CACHE_HOME are not set.");
  makeDirectory(settings.directory);
  requireOwn(settings.directory);
}

std::string ModelCache::fileOf(const std::string &key, const char *suffix) const {
  return fmt::format("{}/{}{}", settings.directory, key, suffix);
}

bool ModelCache::intact(const std::string &key, int descriptor) const {
  try {
    const Record record = parseRecord(fileOf(key, ".json"));
    struct stat facts;
    return fstat(descriptor, &facts) == 0 && factsOf(facts) == record.file &&
           headChecksum(fileOf(key, ".so")) == record.headChecksum;
  } catch (const Error &) {
    return false; // what can't be read is made again
  }
}

std::optional<ModelCache::Held> ModelCache::find(const std::string &key) const {
  const std::string path = fileOf(key, ".so");
  std::optional<FileLock> use = FileLock::take(path, FileLock::Kind::Shared, false);
  if (!use || !intact(key, use->descriptor()))
    return std::nullopt;
  utimensat(AT_FDCWD, fileOf(key, ".json").c_str(), nullptr, 0); // the last use
  return Held{path, std::move(*use)};
}

void ModelCache::describe(const std::string &key, const std::string &about) const {
  const std::string path = fileOf(key, ".so");
  writeRecord(fileOf(key, ".json"), {about, factsOfFile(path), headChecksum(path)});
}

ModelCache::Held
ModelCache::findOrMake(const std::string &key, const std::string &about,
                       const std::function<void(const std::string &path)> &make) const {
  if (std::optional<Held> held = find(key))
    return std::move(*held);
  const std::string lockPath = fileOf(key, ".lock");
  const std::optional<FileLock> making = FileLock::take(lockPath, FileLock::Kind::Exclusive, true);
  std::optional<Held> held = find(key); // made by another while we waited?
  if (!held) {
    make(fileOf(key, ".so"));
    describe(key, about);
    held = find(key);
    if (!held)
      fail(ErrorCode::Io, "'{}' changed as soon as it was written.", fileOf(key, ".so"));
    held->made = true;
    removeLeftovers();
    evict(key);
  }
  unlink(lockPath.c_str());
  return std::move(*held);
}

std::vector<ModelCache::Entry> ModelCache::list() const {
  std::vector<Entry> entries;
  std::error_code error;
  for (const fs::directory_entry &file : fs::directory_iterator(settings.directory, error)) {
    struct stat facts;
    if (file.path().extension() != ".so" || stat(file.path().c_str(), &facts) != 0)
      continue;
    Entry entry;
    entry.key = file.path().stem().string();
    entry.bytes = static_cast<uint64_t>(facts.st_size);
    entry.lastUse = facts.st_mtim.tv_sec;
    try {
      const std::string record = fileOf(entry.key, ".json");
      entry.about = parseRecord(record).about;
      entry.lastUse = static_cast<int64_t>(factsOfFile(record).seconds);
    } catch (const Error &) { // without a record it is damaged, and the first to go
      entry.lastUse = 0;
    }
    entries.push_back(entry);
  }
  std::sort(entries.begin(), entries.end(), [](const Entry &a, const Entry &b) {
    return std::pair(b.lastUse, a.key) < std::pair(a.lastUse, b.key);
  });
  return entries;
}

std::optional<uint64_t> ModelCache::remove(const Entry &entry) const {
  const std::string path = fileOf(entry.key, ".so");
  const std::optional<FileLock> alone = FileLock::tryTake(path, FileLock::Kind::Exclusive);
  if (!alone || unlink(path.c_str()) != 0)
    return std::nullopt;
  unlink(fileOf(entry.key, ".json").c_str());
  return entry.bytes;
}

void ModelCache::evict(const std::string &keep) const {
  std::vector<Entry> entries = list();
  uint64_t total = 0;
  for (const Entry &entry : entries)
    total += entry.bytes;
  for (auto entry = entries.rbegin(); entry != entries.rend() && total > settings.limitBytes;
       ++entry)
    if (entry->key != keep)
      total -= remove(*entry).value_or(0);
}

void ModelCache::removeLeftovers() const {
  // Of processes that were killed. A day old: nobody still writes them.
  const auto limit = fs::file_time_type::clock::now() - std::chrono::hours(24);
  std::error_code error;
  for (const fs::directory_entry &file : fs::directory_iterator(settings.directory, error)) {
    const std::string name = file.path().filename().string();
    const bool ours = name.find(".so.tmp-") != std::string::npos ||
                      name.find(".so.link-") != std::string::npos ||
                      name.find(".json.tmp-") != std::string::npos || name.ends_with(".lock");
    if (ours && file.last_write_time(error) < limit && !error)
      fs::remove(file.path(), error);
  }
}

uint64_t ModelCache::clear() const {
  uint64_t bytes = 0;
  for (const Entry &entry : list())
    bytes += remove(entry).value_or(0);
  removeLeftovers();
  return bytes;
}

} // namespace inf
