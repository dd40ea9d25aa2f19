// The logits of many sequences as a safetensors file, written while they are computed.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/format/FileOutput.h"

namespace inf {

/// Tensors "lineN.logits", f32 [tokens, vocabulary], N the line in the input counted from 0. Sizes
/// are known beforehand, so the header is written first and the rows follow; the file appears under
/// its name only when commit() succeeds.
class LogitsFile {
public:
  struct Line {
    uint64_t number = 0, tokens = 0;
  };
  /// Fails with Usage when it would be larger than 8 GB, naming the size.
  LogitsFile(const std::string &path, const std::vector<Line> &lines, uint64_t vocabulary);

  /// The next row, in the order of the lines. [vocabulary]
  void append(std::span<const float> logits);
  void commit();

private:
  AtomicFile file;
};

} // namespace inf
