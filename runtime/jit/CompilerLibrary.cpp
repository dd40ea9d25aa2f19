#include "runtime/jit/CompilerLibrary.h"

#include <dlfcn.h>

#include <filesystem>
#include <vector>

#include "runtime/base/Error.h"

namespace inf {
namespace {

constexpr char fileName[] = "libinf_compiler.so";

void tellPacking(void *state, uint64_t done, uint64_t total) {
  const auto &watch = *static_cast<const CompileWatch *>(state);
  if (watch.packing)
    watch.packing(done, total);
}

void tellReport(void *state, const char *line) {
  const auto &watch = *static_cast<const CompileWatch *>(state);
  if (watch.report)
    watch.report(line);
}

/// Points into `source` and `watch`.
inf_compile_request requestOf(const JitSource &source, unsigned threads,
                              const CompileWatch &watch) {
  inf_compile_request request = {};
  request.struct_bytes = sizeof(request);
  request.threads = threads;
  request.input = source.input.c_str();
  request.target = source.target.c_str();
  request.quant = source.quant.c_str();
  request.activations = source.activations.c_str();
  request.kv = source.kv.c_str();
  request.weights = source.weights.c_str();
  request.state = const_cast<CompileWatch *>(&watch); // only ever read again as const
  request.progress = tellPacking;
  request.report = tellReport;
  return request;
}

/// Says that a compile runs as long as it lives.
class Running {
public:
  explicit Running(const CompileWatch &told) : watch(told) {
    if (watch.begins)
      watch.begins();
  }
  ~Running() {
    if (watch.ends)
      watch.ends();
  }
  Running(const Running &) = delete;
  Running &operator=(const Running &) = delete;

private:
  const CompileWatch &watch;
};

void check(int32_t code, const inf_compiler_error &error) {
  if (code == 0)
    return;
  const bool known = code >= int32_t(ErrorCode::Internal) && code <= int32_t(ErrorCode::TooLong);
  throw Error(known ? static_cast<ErrorCode>(code) : ErrorCode::Internal, error.text);
}

} // namespace

std::string findCompiler(const std::string &asked) {
  std::error_code error;
  if (!asked.empty()) {
    if (!std::filesystem::is_regular_file(asked, error))
      fail(ErrorCode::Io, "the compiler '{}' is not there. Check --compiler.", asked);
    return std::filesystem::canonical(asked).string();
  }
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  std::vector<std::string> places;
  for (const char *folder : {"../lib", "."}) {
    const std::filesystem::path place =
        (program.parent_path() / folder / fileName).lexically_normal();
    if (std::filesystem::is_regular_file(place, error))
      return std::filesystem::canonical(place).string();
    places.push_back(fmt::format("'{}'", place.string()));
  }
  fail(ErrorCode::Io,
       "the model needs compiling, and there is no compiler at {}. Install it there, name it by "
       "--compiler, or compile with `infc compile` and run the model.so.",
       fmt::join(places, " or "));
}

CompilerLibrary::CompilerLibrary(const std::string &path) {
  void *handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (!handle) {
    const char *reason = dlerror();
    fail(ErrorCode::BadInput,
         "the compiler '{}' cannot be loaded: {}. Install LLVM and MLIR 19 (scripts/install-deps), "
         "or the compiler of this release.",
         path, reason ? reason : "no reason given");
  }
  auto query = reinterpret_cast<inf_compiler_query_fn>(dlsym(handle, INF_COMPILER_SYMBOL));
  table = query ? query(INF_COMPILER_VERSION) : nullptr;
  if (!table || table->version != INF_COMPILER_VERSION ||
      table->struct_bytes != sizeof(inf_compiler))
    fail(ErrorCode::BadInput,
         "'{}' is no compiler of version {}, which this infrun needs. Install that of the same "
         "release.",
         path, INF_COMPILER_VERSION);
}

void CompilerLibrary::compileToFile(const JitSource &source, const std::string &output,
                                    unsigned threads, const CompileWatch &watch) const {
  const inf_compile_request request = requestOf(source, threads, watch);
  inf_compiler_error error = {};
  const Running running(watch);
  check(table->compile_to_file(&request, output.c_str(), &error), error);
}

std::shared_ptr<const inf_compiled>
CompilerLibrary::compileInMemory(const JitSource &source, unsigned threads,
                                 const CompileWatch &watch) const {
  const inf_compile_request request = requestOf(source, threads, watch);
  inf_compiler_error error = {};
  inf_compiled *compiled = nullptr;
  const Running running(watch);
  check(table->compile_in_memory(&request, &compiled, &error), error);
  return {compiled, [discard = table->discard](const inf_compiled *done) {
            discard(const_cast<inf_compiled *>(done));
          }};
}

void CompilerLibrary::packWeights(const inf_compiled &compiled, const JitSource &source,
                                  uint8_t *weights, uint64_t bytes, unsigned threads,
                                  const CompileWatch &watch) const {
  const inf_compile_request request = requestOf(source, threads, watch);
  inf_compiler_error error = {};
  const Running running(watch);
  check(table->pack_weights(&compiled, &request, weights, bytes, &error), error);
}

} // namespace inf
