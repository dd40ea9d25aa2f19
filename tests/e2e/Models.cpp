#include "tests/e2e/Models.h"

#include <filesystem>
#include <map>

#include <fmt/format.h>

#include "codegen/Target.h"
#include "runtime/base/Error.h"
#include "runtime/loader/CheckMachine.h"
#include "tests/runtime/format/TestSupport.h"

namespace inf::test {

std::string compiled(const std::string &input, const Arguments &flags) {
  static TempFolder folder; // goes away with the program
  static std::map<Arguments, std::string> done;
  Arguments arguments = {"compile", input};
  arguments.insert(arguments.end(), flags.begin(), flags.end());
  std::string &path = done[arguments];
  if (!path.empty())
    return path;
  const std::string output = folder / fmt::format("{}.so", done.size());
  Arguments withOutput = arguments;
  withOutput.insert(withOutput.end(), {"-q", "-o", output});
  Finished finished = infc(withOutput);
  if (finished.code != 0)
    fail(ErrorCode::Internal, "infc {} failed with {}: {}", fmt::join(withOutput, " "),
         finished.code, finished.err);
  return path = output;
}

namespace {

std::string tinyWith(Arguments all, const Arguments &flags) {
  all.insert(all.end(), flags.begin(), flags.end());
  return compiled(tinyModel, all);
}

} // namespace

Arguments exactFlags(const std::string &target) {
  return {"--target=" + target, "--quant=none", "--kv=f32"};
}

std::string tinyExact(const std::string &target, const Arguments &flags) {
  return tinyWith(exactFlags(target), flags);
}

std::string tinyDefault(const std::string &target, const Arguments &flags) {
  return tinyWith({"--target=" + target}, flags);
}

bool runsHere(const std::string &target) {
  return hostMachine().features.missing(targetByName(target).features).empty();
}

std::string nameOfTarget(const testing::TestParamInfo<const char *> &target) {
  return target.param;
}

std::string sharedFile(const std::string &name) {
  const std::string shared = INF_SOURCE_DIR "/../shared";
  if (!std::filesystem::exists(shared))
    return {};
  const std::string path = shared + "/" + name;
  if (!std::filesystem::exists(path))
    fail(ErrorCode::Io, "'{}' is missing though '{}' is there", path, shared);
  return path;
}

} // namespace inf::test
