// A model to check a KvCache against: every position of a sequence writes a number that only its
// tokens up to there give, into every group, and whoever holds a position must find that number.
#pragma once

#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <unordered_set>
#include <vector>

#include "runtime/kv/KvCache.h"

namespace inf::test {

class KvModel {
public:
  /// `ample`: no block is ever evicted, so that what attach() finds can be foretold.
  KvModel(std::vector<inf_kv_group> groups, const KvCacheOptions &options, bool ample,
          uint32_t seed);

  /// One random thing that a scheduler could do. An empty text, or what went wrong.
  std::string act();
  /// Everything a sequence holds is what its tokens say, no block is lost.
  std::string check() const;
  /// After the end of all sequences and prefixes every block is free.
  std::string finish();

  KvCache kv;
  uint64_t attached = 0; ///< attach() found something

private:
  struct Sequence {
    bool runs = false;
    uint64_t tenant = 0;
    std::vector<int32_t> wanted; ///< the prompt, then what is generated
    std::vector<uint64_t> sums;  ///< of the tokens held: [position + 1]
    uint32_t began = 0;
  };

  std::string start(uint32_t s);
  std::string step(uint32_t s);
  std::string goBack(uint32_t s);
  void end(uint32_t s);
  std::string write(uint32_t s, uint32_t count);
  std::string checkSequence(uint32_t s) const;
  std::vector<int32_t> somePrompt();
  void remember(uint32_t s);
  void mark(uint32_t s, uint32_t position);
  void markBlocks(uint32_t s, uint32_t from);
  std::string foretell(const std::vector<int32_t> &prompt, uint64_t tenant, uint32_t found) const;
  uint32_t below(uint32_t end) { return random() % end; }
  uint32_t &place(uint32_t s, uint32_t g, uint32_t slot, uint32_t position) const;
  int32_t block(uint32_t s, uint32_t g, uint32_t position) const;

  std::vector<inf_kv_group> groups;
  KvCacheOptions options;
  bool ample, hasFull = false, needsWindow = false;
  uint32_t blockTokens = 1;
  std::mt19937 random;
  std::vector<Sequence> sequences;
  std::vector<std::vector<int32_t>> texts;    ///< that prompts begin like
  std::unordered_set<uint64_t> indexed, back; ///< sums: known; known and attachable
};

} // namespace inf::test
