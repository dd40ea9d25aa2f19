#include "codegen/linear/PageFetch.h"

#include "runtime/base/Error.h"

namespace inf {

void PageFetch::begin(const Gpr &cursor) {
  a.lea(position, a.ptr[cursor + pages * pageBytes]);
  a.shr(position, 3);
  static_assert(pages == 1 << 3);
}

/// While the walk passes a window, position passes pageBytes: what it is beyond a multiple of these
/// says which line of each page is next, and the multiple, times pages, where the window begins:
///   address = pages * (position rounded down) + (position - position rounded down)
void PageFetch::step(int bytes) {
  if (bytes < 128 || bytes > 1024)
    fail(ErrorCode::Internal, "fetching by pages goes in steps of 128 to 1024 bytes, not {}",
         bytes);
  a.mov(address, position);
  a.and_(address, -pageBytes);
  a.imul(address, address, pages - 1);
  a.add(address, position);
  for (int page = 0; page < pages; ++page)
    a.prefetcht1(a.ptr[address + page * pageBytes]);
  a.add(position, bytes / pages);
}

} // namespace inf
