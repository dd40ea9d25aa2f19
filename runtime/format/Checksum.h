// XXH3-64 of bytes that come piece by piece.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

namespace inf {

class StreamChecksum {
public:
  StreamChecksum();
  ~StreamChecksum();
  void add(std::span<const uint8_t> bytes);
  uint64_t value() const;

private:
  struct State;
  std::unique_ptr<State> state;
};

} // namespace inf
