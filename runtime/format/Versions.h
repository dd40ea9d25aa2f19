// Formats of other releases, told apart from damage.
#pragma once

#include <cstdint>
#include <string_view>

#include "runtime/base/Error.h"

namespace inf {

/// Fails with BadInput, naming both versions and which side to renew, unless they are equal. `what`
/// starts the message: "m.so: payload".
inline void requireVersion(std::string_view what, uint32_t found, uint32_t expected) {
  if (found == expected)
    return;
  const bool newer = found > expected;
  fail(ErrorCode::BadInput, "{} version {}, expected {}: made by {} release; {}", what, found,
       expected, newer ? "a newer" : "an older",
       newer ? "update infrun and infc, or compile the model with the infc of this release"
             : "compile the model again with the infc of this release");
}

} // namespace inf
