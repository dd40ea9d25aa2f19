// Compiled models on disk, by what they were compiled from.
//
// KEY.so is a complete model.so; KEY.json beside it says what it was made from, its size, time of
// change and inode, and a checksum of all before the weights. An entry whose file differs from that
// is damaged and made again. KEY.lock is held by the one process that makes an entry; who runs one
// holds a shared lock on KEY.so, so that it is not thrown out meanwhile.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "runtime/jit/FileLock.h"

namespace inf {

/// $XDG_CACHE_HOME/inf, else $HOME/.cache/inf; "" when neither is set.
std::string defaultCacheDirectory();

class ModelCache {
public:
  struct Options {
    std::string directory; ///< made when it is missing
    uint64_t limitBytes = uint64_t{64} << 30;
  };
  /// An entry that has been checked, and may not be removed while this lives.
  struct Held {
    std::string path;
    FileLock use;
    bool made = false; ///< by this call
  };
  struct Entry {
    std::string key;
    std::string about;   ///< what it was made from; "" when that is lost
    uint64_t bytes = 0;  ///< on disk
    int64_t lastUse = 0; ///< seconds since the epoch
  };

  /// Fails with Io when the directory can't be made or written, or when others may write there:
  /// what lies in it is run.
  explicit ModelCache(const Options &options);

  /// nullopt when there is none or it is damaged.
  std::optional<Held> find(const std::string &key) const;
  /// Else makes it: `make` writes the file it is given, under that name only when it is whole.
  /// Other processes that want the same wait. Then throws out what was not used for longest until
  /// the rest fits the limit; the new one and those in use stay.
  Held findOrMake(const std::string &key, const std::string &about,
                  const std::function<void(const std::string &path)> &make) const;

  std::vector<Entry> list() const; ///< latest use first
  /// Removes all that nobody uses; returns how many bytes that were.
  uint64_t clear() const;

private:
  std::string fileOf(const std::string &key, const char *suffix) const;
  bool intact(const std::string &key, int descriptor) const;
  void describe(const std::string &key, const std::string &about) const;
  std::optional<uint64_t> remove(const Entry &entry) const;
  void evict(const std::string &keep) const;
  void removeLeftovers() const;

  Options settings;
};

} // namespace inf
