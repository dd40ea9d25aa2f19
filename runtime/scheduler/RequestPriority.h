#pragma once

#include <cstdint>

namespace inf {

/// Interactive goes before Normal before Batch; waiting ages a request into the next class.
enum class RequestPriority : uint8_t { Interactive, Normal, Batch };

} // namespace inf
