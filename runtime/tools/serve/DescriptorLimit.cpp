#include "runtime/tools/serve/DescriptorLimit.h"

#include <sys/resource.h>

#include <algorithm>

namespace inf {
namespace {

/// The model's file, the log, the listening socket, and connections that are being refused.
constexpr size_t others = 128;

} // namespace

size_t connectionsThatFit(size_t connections) {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
    return connections;
  const rlim_t wanted = connections + others;
  if (limit.rlim_cur < wanted) { // RLIM_INFINITY is more than any
    const rlim_t before = limit.rlim_cur;
    limit.rlim_cur = std::min(wanted, limit.rlim_max);
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
      limit.rlim_cur = before;
  }
  if (limit.rlim_cur >= wanted)
    return connections;
  const size_t all = limit.rlim_cur;
  return std::max<size_t>(all > 2 * others ? all - others : all / 2, 1);
}

} // namespace inf
