#include "runtime/base/Error.h"

#include <system_error>

namespace inf {

std::string errnoText(int error) { return std::generic_category().message(error); }

} // namespace inf
