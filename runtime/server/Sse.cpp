#include "runtime/server/Sse.h"

#include <fmt/format.h>

namespace inf {

std::string sseData(std::string_view json) { return fmt::format("data: {}\n\n", json); }

std::string sseEvent(std::string_view name, std::string_view json) {
  return fmt::format("event: {}\ndata: {}\n\n", name, json);
}

} // namespace inf
