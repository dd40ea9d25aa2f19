// A model compiled into this process, without a file.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "codegen/MemoryCode.h"
#include "compiler/driver/Compile.h"

namespace inf {

/// The same objects as in the model.so that compile() writes, linked by MemoryCode.
class CompiledInMemory {
public:
  /// Output and emit of the options are not looked at. Fails as compile() does.
  explicit CompiledInMemory(const CompileOptions &options);

  const PayloadContents &contents() const { return payload; }
  const MemoryCode &code() const { return *memory; }
  /// Packs the weights into `region`, zeroed memory of the manifest's size.
  void packWeights(std::span<uint8_t> region, unsigned threads, const Progress &progress) const;

private:
  PayloadContents payload;
  std::unique_ptr<WeightSource> source;
  std::unique_ptr<MemoryCode> memory;
};

} // namespace inf
