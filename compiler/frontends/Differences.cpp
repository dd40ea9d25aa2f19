#include "compiler/frontends/Differences.h"

#include "compiler/frontends/Suggest.h"
#include "runtime/base/Error.h"

namespace inf {
namespace {

std::string list(std::string_view kind, const std::set<std::string> &names) {
  if (names.empty())
    return "";
  return fmt::format("\n  {} {}: {}", names.size(), kind, firstNames({names.begin(), names.end()}));
}

} // namespace

void Differences::mismatchedTensor(const std::string &name, const std::string &expected,
                                   const std::string &found) {
  mismatched.insert(fmt::format("{} (expected {}, found {})", name, expected, found));
}

void Differences::refuse(const std::string &what) const {
  if (missing.empty() && extra.empty() && mismatched.empty())
    return;
  fail(ErrorCode::BadInput,
       "{} does not fit the model description:{}{}{}; check that both are of the same model and "
       "that all of its files are there",
       what, list("missing", missing), list("extra", extra), list("mismatched", mismatched));
}

} // namespace inf
