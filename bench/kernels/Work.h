// What one kernel is given to do: arguments in memory, cut over threads.
#pragma once

#include <cstdint>
#include <memory>

#include "bench/kernels/Machine.h"
#include "codegen/KernelSpec.h"

namespace inf::bench {

/// Where weights (or keys and values) come from.
enum class Source {
  Memory, ///< several times the last-level cache, read once in a pass
  Cache   ///< a few hundred KiB a thread, read again and again
};

class Work {
public:
  virtual ~Work() = default;
  virtual void run(unsigned thread) = 0;   ///< this thread's part of a pass
  virtual uint64_t bytes() const = 0;      ///< of weights, or keys and values, in a pass
  virtual uint64_t operations() const = 0; ///< in a pass, 2 per multiply-accumulate
  virtual DotKind products() const = 0;    ///< which peak operations are held against
};

/// A matrix of 2880 columns (gpt-oss-20b's) times `rows` rows. The machine must run the spec.
std::unique_ptr<Work> makeLinearWork(const KernelSpec &spec, unsigned rows, Source source,
                                     const Machine &machine);
/// One row's query heads against the keys of their kv heads: 4096 from memory, 1024 from cache.
std::unique_ptr<Work> makeAttentionWork(const KernelSpec &spec, Source source,
                                        const Machine &machine);

} // namespace inf::bench
