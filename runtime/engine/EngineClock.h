#pragma once

#include <chrono>

namespace inf {

/// Seconds since this object was made; never going back.
class EngineClock {
public:
  double now() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }

private:
  const std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
};

} // namespace inf
