#include "compiler/driver/Compile.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <filesystem>

#include "codegen/TargetAdvice.h"
#include "compiler/driver/Codegen.h"
#include "compiler/driver/Input.h"
#include "compiler/driver/MemoryLimit.h"
#include "compiler/driver/Stages.h"
#include "compiler/frontends/ModelDesc.h"
#include "compiler/frontends/gguf/Gguf.h"
#include "passes/QuantPolicy.h"
#include "runtime/cpu/Features.h"
#include "runtime/format/FileOutput.h"

namespace inf {
namespace {

void writeOutput(const CompileOptions &options, std::span<const uint8_t> bytes) {
  if (options.output == "-") {
    if (std::fwrite(bytes.data(), 1, bytes.size(), stdout) != bytes.size() || std::fflush(stdout))
      fail(ErrorCode::Io, "writing {} bytes to standard output failed", bytes.size());
    return;
  }
  AtomicFile file(options.output, bytes.size());
  file.append(bytes);
  file.commit();
}

void writeText(const CompileOptions &options, const std::string &text) {
  writeOutput(options, {reinterpret_cast<const uint8_t *>(text.data()), text.size()});
}

void checkOutput(const CompileOptions &options) {
  if (!options.stopAfter.empty() && options.emit != EmitAs::Mlir)
    fail(ErrorCode::Usage, "--stop-after gives IR; add --emit=mlir");
  if (options.output == "-" && (options.emit == EmitAs::Obj || options.emit == EmitAs::So))
    fail(ErrorCode::Usage, "--emit=obj and --emit=so write binary files; name one with -o");
  if (options.output == "-")
    return;
  std::filesystem::path parent = std::filesystem::absolute(options.output).parent_path();
  if (!std::filesystem::is_directory(parent))
    fail(ErrorCode::Io, "-o {}: there is no directory {}; create it first", options.output,
         parent.string());
}

void adviseOnTarget(const Target &target, const CompileOptions &options) {
  if (!options.report)
    return;
  if (const auto note = unusedFeaturesNote(target, detectFeatures(hostCpuid()).usable))
    options.report(*note);
}

void compileToModel(const CompileOptions &options, const LoadedModel &input, GeneratedCode &code) {
  std::vector<WeightDecl> decls;
  for (const PackedWeight &weight : code.contents().manifest.weights)
    decls.push_back(weight.decl);
  std::unique_ptr<WeightSource> source = openWeights(options, input, decls);
  std::vector<uint8_t> library = code.link(options.output);
  const unsigned threads = threadsWithinMemory(options, code.contents().manifest);
  writeModel(library, code.contents(), source.get(), options.output, threads, options.progress);
}

} // namespace

WeightsChoice parseWeightsChoice(const std::string &text) {
  WeightsChoice choice;
  constexpr std::string_view randomPrefix = "random:";
  if (text == "none") {
    choice.kind = WeightsChoice::Kind::None;
  } else if (text.starts_with(randomPrefix)) {
    choice.kind = WeightsChoice::Kind::Random;
    const char *begin = text.data() + randomPrefix.size(), *end = text.data() + text.size();
    auto [stop, error] = std::from_chars(begin, end, choice.seed);
    if (error != std::errc() || stop != end)
      fail(ErrorCode::Usage, "--weights=random:SEED needs a whole number, found \"{}\"", text);
  } else {
    choice.directory = text;
  }
  return choice;
}

EmitAs parseEmit(const std::string &text) {
  const std::pair<std::string_view, EmitAs> kinds[] = {{"mlir", EmitAs::Mlir},
                                                       {"llvm", EmitAs::Llvm},
                                                       {"asm", EmitAs::Asm},
                                                       {"obj", EmitAs::Obj},
                                                       {"so", EmitAs::So}};
  for (auto [name, kind] : kinds)
    if (name == text)
      return kind;
  fail(ErrorCode::Usage, "--emit must be mlir, llvm, asm, obj or so, not \"{}\"", text);
}

CompileOptions settledOptions(const CompileOptions &asked) {
  CompileOptions options = asked;
  constexpr int64_t mostRows = 65536; // inf.model's own limit
  if (options.maxRows < 1 || options.maxRows > mostRows)
    fail(ErrorCode::Usage, "--max-rows must be in 1..{}, not {}", mostRows, options.maxRows);
  if (options.maxOutputRows < 0 || options.maxOutputRows > options.maxRows)
    fail(ErrorCode::Usage, "--max-output-rows must be in 1..{} (--max-rows), not {}",
         options.maxRows, options.maxOutputRows);
  if (options.kvElement != "f32" && options.kvElement != "bf16")
    fail(ErrorCode::Usage, "--kv must be f32 or bf16, not \"{}\"", options.kvElement);
  constexpr std::array<std::string_view, 5> activations = {"auto", "f32", "q8", "mxint8", "bf16"};
  if (std::find(activations.begin(), activations.end(), options.activations) == activations.end())
    fail(ErrorCode::Usage, "--activations must be auto, f32, q8, mxint8 or bf16, not \"{}\"",
         options.activations);
  parseQuantPolicy(options.quantPolicy); // fails with what is wrong, before a model is read
  if (!options.maxOutputRows)
    options.maxOutputRows = std::min(defaultMaxOutputRows, options.maxRows);
  return options;
}

void compile(const CompileOptions &asked) {
  checkOutput(asked);
  CompileOptions options = settledOptions(asked);
  Target target = targetByName(options.target);
  adviseOnTarget(target, options);
  CompileContext context;
  LoadedModel input = loadModel(context, options);
  requireCompilerMemory(options);
  runStages(context, *input.module, options, target,
            options.emit == EmitAs::Mlir ? options.stopAfter : "");
  if (options.emit == EmitAs::Mlir)
    return writeText(options, printModule(*input.module));

  GeneratedCode code(context, *input.module, input.tokenizerJson, input.chatTemplate);
  switch (options.emit) {
  case EmitAs::Llvm:
    return writeText(options, code.llvmText());
  case EmitAs::Asm:
    return writeText(options, code.assembly());
  case EmitAs::Obj:
    return writeOutput(options, code.object());
  default:
    return compileToModel(options, input, code);
  }
}

std::string importToJson(const std::string &checkpoint, const std::string &baseDirectory) {
  if (checkpoint.ends_with(".gguf"))
    return writeModelJson(readGguf(checkpoint, {.tokenizer = false}).desc, baseDirectory);
  return writeModelJson(importHuggingFace(checkpoint), baseDirectory);
}

} // namespace inf
