#include "runtime/loader/CodeLibrary.h"

#include <dlfcn.h>

#include <cerrno>
#include <cstdlib>
#include <memory>

#include "runtime/base/Error.h"

namespace inf {
namespace {

// dlopen searches the library path for a name without a slash, and a relative one would depend on
// the directory at the time of the call.
std::string absolutePath(const std::string &path) {
  std::unique_ptr<char, decltype(&std::free)> resolved(realpath(path.c_str(), nullptr), &std::free);
  if (!resolved)
    fail(ErrorCode::Io, "cannot open model '{}': {}. Check the path.", path, errnoText(errno));
  return resolved.get();
}

const char *lastDlError() {
  const char *text = dlerror();
  return text ? text : "no reason given";
}

const inf_model *queryTable(void *handle, const std::string &path) {
  auto query = reinterpret_cast<inf_model_query_fn>(dlsym(handle, INF_ABI_SYMBOL));
  if (!query)
    fail(ErrorCode::BadInput,
         "'{}' does not export {}: it is not a compiled model. Make one with `infc compile`.", path,
         INF_ABI_SYMBOL);
  const inf_model *table = query(INF_ABI_VERSION);
  if (!table)
    fail(ErrorCode::BadInput,
         "'{}' does not serve ABI version {}, the one of this infrun. Compile the model again with "
         "the infc of the same release.",
         path, INF_ABI_VERSION);
  return table;
}

} // namespace

CodeLibrary::CodeLibrary(const std::string &path) {
  handle = dlopen(absolutePath(path).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    fail(ErrorCode::BadInput,
         "the code of '{}' cannot be loaded: {}. The file is damaged or lies on a file system "
         "mounted noexec: copy it again or elsewhere.",
         path, lastDlError());
  try {
    table = queryTable(handle, path);
  } catch (...) {
    dlclose(handle);
    throw;
  }
}

CodeLibrary::~CodeLibrary() { dlclose(handle); }

} // namespace inf
