// libinf_compiler.so: the driver behind the plain C of runtime/abi/inf_compiler.h.
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "compiler/driver/Compile.h"
#include "compiler/driver/CompileInMemory.h"
#include "runtime/abi/inf_abi.h"
#include "runtime/abi/inf_compiler.h"
#include "runtime/base/Error.h"
#include "runtime/format/Manifest.h"

namespace inf {
namespace {

/// What an inf_compiled stands for; the struct comes first so that one points to the other.
struct Compiled : inf_compiled {
  CompiledInMemory model;
  std::string manifestJson;
  std::vector<inf_code_symbol> table;

  explicit Compiled(const CompileOptions &options) : inf_compiled{}, model(options) {
    const PayloadContents &contents = model.contents();
    manifestJson = manifestToJson(contents.manifest);
    for (const CodeSymbol &symbol : model.code().symbols())
      table.push_back({symbol.name.c_str(), symbol.address, symbol.bytes});
    struct_bytes = sizeof(inf_compiled);
    symbol_count = static_cast<uint32_t>(table.size());
    symbols = table.data();
    manifest = manifestJson.data();
    manifest_bytes = manifestJson.size();
    tokenizer = contents.tokenizerJson.data();
    tokenizer_bytes = contents.tokenizerJson.size();
    chat_template = contents.chatTemplate.data();
    chat_template_bytes = contents.chatTemplate.size();
    build_id[0] = contents.buildId[0];
    build_id[1] = contents.buildId[1];
    query = reinterpret_cast<inf_model_query_fn>(model.code().entry());
  }
};

void setText(inf_compiler_error *error, const char *text) {
  std::strncpy(error->text, text, sizeof(error->text) - 1);
  error->text[sizeof(error->text) - 1] = '\0';
}

/// No exception may leave this library.
template <typename Body> int32_t guarded(inf_compiler_error *error, Body body) {
  try {
    body();
    return 0;
  } catch (const Error &failure) {
    setText(error, failure.what());
    return static_cast<int32_t>(failure.code);
  } catch (const std::bad_alloc &) {
    setText(error, "out of memory while compiling");
    return static_cast<int32_t>(ErrorCode::Machine);
  } catch (const std::exception &failure) {
    setText(error, failure.what());
    return static_cast<int32_t>(ErrorCode::Internal);
  }
}

void take(std::string &option, const char *text) {
  if (text && *text)
    option = text;
}

Progress progressOf(const inf_compile_request &request) {
  if (!request.progress)
    return {};
  return [state = request.state, tell = request.progress](uint64_t done, uint64_t total) {
    tell(state, done, total);
  };
}

CompileOptions optionsOf(const inf_compile_request &request) {
  if (request.struct_bytes != sizeof(inf_compile_request) || !request.input)
    fail(ErrorCode::Internal, "a compile request of {} bytes, expected {}", request.struct_bytes,
         sizeof(inf_compile_request));
  CompileOptions options;
  options.input = request.input;
  take(options.target, request.target);
  take(options.quantPolicy, request.quant);
  take(options.activations, request.activations);
  take(options.kvElement, request.kv);
  if (request.weights && *request.weights)
    options.weights = parseWeightsChoice(request.weights);
  if (options.weights.kind == WeightsChoice::Kind::None)
    fail(ErrorCode::Usage,
         "--weights=none leaves nothing to run; give a checkpoint, or random:SEED");
  options.threads = request.threads;
  options.progress = progressOf(request);
  if (request.report)
    options.report = [state = request.state, tell = request.report](const std::string &line) {
      tell(state, line.c_str());
    };
  return options;
}

int32_t compileToFile(const inf_compile_request *request, const char *output,
                      inf_compiler_error *error) {
  return guarded(error, [&] {
    CompileOptions options = optionsOf(*request);
    options.output = output;
    compile(options);
  });
}

int32_t compileInMemory(const inf_compile_request *request, inf_compiled **compiled,
                        inf_compiler_error *error) {
  return guarded(error, [&] { *compiled = new Compiled(optionsOf(*request)); });
}

int32_t packInto(const inf_compiled *compiled, const inf_compile_request *request, uint8_t *weights,
                 uint64_t bytes, inf_compiler_error *error) {
  return guarded(error, [&] {
    static_cast<const Compiled *>(compiled)->model.packWeights({weights, bytes}, request->threads,
                                                               progressOf(*request));
  });
}

void discard(inf_compiled *compiled) { delete static_cast<Compiled *>(compiled); }

constexpr inf_compiler table = {
    sizeof(inf_compiler), INF_COMPILER_VERSION, compileToFile, compileInMemory, packInto, discard};

} // namespace
} // namespace inf

extern "C" const inf_compiler *inf_compiler_query(uint32_t version) {
  return version == INF_COMPILER_VERSION ? &inf::table : nullptr;
}
