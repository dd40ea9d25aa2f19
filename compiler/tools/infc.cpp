// infc: compiles models. Command line only; the work is in compiler/driver.
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <thread>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include "codegen/Target.h"
#include "compiler/check/Check.h"
#include "compiler/driver/Compile.h"
#include "compiler/driver/Explain.h"
#include "compiler/driver/Inspect.h"
#include "compiler/driver/MemoryLimit.h"
#include "compiler/driver/Reference.h"
#include "compiler/driver/Stages.h"
#include "compiler/tools/DiffCommand.h"
#include "runtime/abi/inf_abi.h"
#include "runtime/format/FileOutput.h"

namespace inf {
namespace {

constexpr char version[] = "infc 0.1.0";

/// A line on stderr. Not fmt::print, which throws when stderr can't take it: then neither a note
/// may end the work nor a message its exit code.
void say(const std::string &line) { std::fputs(fmt::format("infc: {}\n", line).c_str(), stderr); }

/// Progress on a terminal; silent in a pipe.
Progress terminalProgress(const char *what = "packing weights") {
  if (!::isatty(STDERR_FILENO))
    return {};
  return [what, last = -1](uint64_t done, uint64_t total) mutable {
    int percent = total ? int(done * 100 / total) : 100;
    if (percent == last)
      return;
    last = percent;
    fmt::print(stderr, "\r{} {:3}% of {:.2f} GB{}", what, percent, double(total) / 1e9,
               percent == 100 ? "\n" : "");
  };
}

struct CompileFlags {
  std::string weights, emit = "so", maxMemory;
  std::vector<std::string> without;
  bool quiet = false, noTokenizer = false;
  CompileOptions options;
};

void addCompile(CLI::App &app, CompileFlags &flags) {
  CLI::App *command = app.add_subcommand("compile", "compile a model into one shared library");
  CompileOptions &options = flags.options;
  command->add_option("model", options.input, "checkpoint directory, .gguf, model.json or .mlir")
      ->required();
  command->add_option("-o,--output", options.output, "file to write (- for text on stdout)")
      ->required();
  command->add_option("--target", options.target,
                      "avx2, avx512, native, ... (infc targets lists all)");
  command->add_option("--weights", flags.weights, "DIR, FILE.gguf, none, or random:SEED");
  command->add_option("--quant", options.quantPolicy,
                      "none, int8 (default), int4, PATTERN=FORMAT,...");
  command->add_option("--activations", options.activations,
                      "rows of products, dots of attention: auto, f32, q8, mxint8, bf16");
  command->add_flag("--no-tokenizer", flags.noTokenizer, "the model takes token ids alone");
  command->add_option("--kv", options.kvElement, "cached keys and values: bf16 (default), f32");
  command->add_option("--max-rows", options.maxRows, "rows one step may have");
  command->add_option("--max-output-rows", options.maxOutputRows,
                      "of those, rows with logits (64)");
  command->add_option("--emit", flags.emit, "so, obj, asm, llvm or mlir");
  command->add_option("--stop-after", options.stopAfter, "last stage, with --emit=mlir");
  command->add_option("--save-ir", options.saveIrDirectory, "write the IR after each stage there");
  command->add_option("--without", flags.without, "leave out an optional stage (fuse-...)");
  command->add_option("--threads", options.threads, "threads that pack weights")
      ->check(CLI::Range(1, 256));
  command->add_option("--max-memory", flags.maxMemory,
                      "stay below, or refuse: 300M, 2G, ... (no limit)");
  command->add_flag("-q,--quiet", flags.quiet, "no notes on stderr");
  command->footer("example: infc compile gpt-oss-20b/ --target=avx512 -o gpt-oss-20b.so");
  command->callback([&flags, command] {
    CompileOptions &chosen = flags.options;
    for (const char *option :
         {"--target", "--quant", "--activations", "--kv", "--max-rows", "--max-output-rows"})
      if (command->count(option))
        chosen.asked.insert(option);
    chosen.weights = parseWeightsChoice(flags.weights);
    chosen.emit = parseEmit(flags.emit);
    if (!flags.maxMemory.empty())
      chosen.maxMemory = parseMemorySize(flags.maxMemory);
    chosen.readsTokenizer = !flags.noTokenizer;
    chosen.readsWeights = chosen.emit == EmitAs::So;
    chosen.without = {flags.without.begin(), flags.without.end()};
    if (!flags.quiet) {
      chosen.progress = terminalProgress();
      chosen.report = say;
    }
    compile(chosen);
  });
}

void addImport(CLI::App &app, std::string &directory, std::string &output) {
  CLI::App *command = app.add_subcommand("import", "translate a checkpoint into a model.json");
  command->add_option("checkpoint", directory, "Hugging Face directory or .gguf")->required();
  command->add_option("-o,--output", output, "model.json to write")->required();
  command->footer("example: infc import gpt-oss-20b/ -o gpt-oss-20b.json");
  command->callback([&] {
    auto base = std::filesystem::absolute(output).parent_path().string();
    std::string text = importToJson(directory, base);
    AtomicFile file(output, text.size());
    file.append({reinterpret_cast<const uint8_t *>(text.data()), text.size()});
    file.commit();
  });
}

struct CheckFlags {
  std::string path;
  bool json = false, noValues = false;
  CheckOptions options;
};

void addCheck(CLI::App &app, CheckFlags &flags) {
  CLI::App *command =
      app.add_subcommand("check", "list everything that is wrong with a model, without compiling");
  command->add_option("model", flags.path, "checkpoint directory, .gguf or model.json")->required();
  command->add_flag("--no-values", flags.noValues, "don't look for NaN and infinities in weights");
  command->add_flag("--json", flags.json, "as JSON");
  command->add_option("--threads", flags.options.threads, "threads that look at values")
      ->check(CLI::Range(1, 256));
  command->footer("example: infc check gpt-oss-20b/\nexit code: 4 when there is a problem");
}

/// The exit code: a problem is an answer, not a failure of this command.
int runCheck(CheckFlags &flags) {
  flags.options.values = !flags.noValues;
  if (auto show = terminalProgress("values, in f32:"))
    flags.options.progress = [show](uint64_t done, uint64_t total) { show(done * 4, total * 4); };
  ModelReport report = checkModel(flags.path, flags.options);
  fmt::print("{}", flags.json ? reportJson(report) : reportText(report));
  return report.problems.empty() ? 0 : int(ErrorCode::BadInput);
}

struct InspectFlags {
  std::string path;
  bool json = false, assembly = false;
};

void addInspect(CLI::App &app, InspectFlags &flags) {
  CLI::App *command =
      app.add_subcommand("inspect", "say what a compiled model is, without running it");
  command->add_option("model", flags.path, "model.so")->required();
  command->add_flag("--json", flags.json, "as JSON");
  command->add_flag("--asm", flags.assembly, "disassemble every function");
  command->footer("example: infc inspect gpt-oss-20b.so");
  command->callback([&flags] {
    PayloadInfo info = readPayloadInfo(flags.path, INF_ABI_VERSION);
    if (flags.assembly)
      fmt::print("{}", inspectAssembly(flags.path));
    else
      fmt::print("{}", flags.json ? inspectJson(info) : inspectText(info));
  });
}

void addExplain(CLI::App &app, std::string &path) {
  CLI::App *command =
      app.add_subcommand("explain", "say why a compiled model has its kernels and formats");
  command->add_option("model", path, "model.so")->required();
  command->footer("example: infc explain gpt-oss-20b.so");
  command->callback(
      [&path] { fmt::print("{}", explainText(readPayloadInfo(path, INF_ABI_VERSION))); });
}

struct ReferenceFlags {
  std::string weights;
  double tolerance = 2e-3;
  ReferenceOptions options;
};

void reportReference(const ReferenceFlags &flags) {
  ReferenceReport report = runReferenceModel(flags.options);
  fmt::print("{} logits, {}, last token's highest: {}\n", report.values,
             report.finite ? "all finite" : "NOT all finite", report.lastArgmax);
  if (!report.finite)
    fail(ErrorCode::BadInput, "logits are not finite; look for NaN or huge values in the weights");
  if (!report.largestDifference)
    return;
  fmt::print("largest difference {:.3g} (tolerance {:.3g})\n", *report.largestDifference,
             flags.tolerance);
  if (!(*report.largestDifference <= flags.tolerance))
    fail(ErrorCode::Internal, "{} differs from the reference by {:.3g}, more than {:.3g}",
         flags.options.comparePath, *report.largestDifference, flags.tolerance);
}

void addReference(CLI::App &app, ReferenceFlags &flags) {
  CLI::App *command =
      app.add_subcommand("reference", "evaluate the IR slowly and plainly, and compare");
  ReferenceOptions &options = flags.options;
  command->add_option("model", options.model.input, "as for compile")->required();
  command->add_option("--ids", options.tokens, "tokens of one sequence: 1,2,3")
      ->delimiter(',')
      ->required();
  command->add_option("--weights", flags.weights, "DIR or random:SEED");
  command->add_option("--quant", options.model.quantPolicy, "as for compile");
  command->add_option("--activations", options.model.activations, "as for compile");
  command->add_option("--kv", options.model.kvElement, "as for compile");
  command->add_option("--stop-after", options.model.stopAfter, "evaluate the IR after this stage");
  command->add_option("--target", options.model.target, "for stages that need one");
  command->add_option("--logits", options.logitsPath, "write logits as safetensors");
  command->add_option("--compare", options.comparePath, "file of `infrun score --logits`");
  command->add_option("--tolerance", flags.tolerance, "largest difference allowed");
  command->footer(
      "example: infc reference models/gpt-oss-tiny --ids 491,475,258 --logits r.safetensors");
  command->callback([&flags] {
    CompileOptions &model = flags.options.model;
    model.weights = parseWeightsChoice(flags.weights);
    model.emit = EmitAs::Mlir;
    model.readsTokenizer = false;
    model.report = say;
    reportReference(flags);
  });
}

void addLists(CLI::App &app) {
  app.add_subcommand("kernels", "list the kernel table")->callback([] {
    fmt::print("{}", kernelTableText());
  });
  app.add_subcommand("targets", "list the targets")->callback([] {
    for (const std::string &name : targetNames())
      if (name == "native")
        fmt::print("{:16} what this CPU and OS offer\n", name);
      else
        fmt::print("{:16} {}\n", name, targetByName(name).features.toString());
  });
  app.add_subcommand("stages", "list the stages of the pipeline")->callback([] {
    for (const std::string &name : stageNames())
      fmt::print("{}\n", name);
  });
}

int run(int argc, char **argv) {
  CLI::App app("infc: compiles language models for CPUs", "infc");
  app.set_version_flag("--version", version);
  app.require_subcommand(1);
  app.footer("example: infc compile models/gpt-oss-tiny --target=native -o tiny.so\n"
             "exit codes: 0 ok, 1 bug, 2 usage, 3 machine, 4 bad input, 5 files, 6 too long");
  CompileFlags compileFlags;
  compileFlags.options.threads = std::max(1u, std::thread::hardware_concurrency());
  InspectFlags inspectFlags;
  ReferenceFlags referenceFlags;
  CheckFlags checkFlags;
  checkFlags.options.threads = std::max(1u, std::thread::hardware_concurrency());
  DiffFlags diffFlags;
  std::string importDirectory, importOutput, explainPath;
  addCompile(app, compileFlags);
  addImport(app, importDirectory, importOutput);
  addCheck(app, checkFlags);
  addInspect(app, inspectFlags);
  addExplain(app, explainPath);
  addDiff(app, diffFlags);
  addReference(app, referenceFlags);
  addLists(app);
  int code = 0;
  try {
    app.parse(argc, argv);
    if (app.got_subcommand("check"))
      code = runCheck(checkFlags);
  } catch (const CLI::ParseError &error) {
    return app.exit(error) == 0 ? 0 : int(ErrorCode::Usage);
  }
  if (std::fflush(stdout) != 0)
    fail(ErrorCode::Io, "writing to standard output failed: {}; free space or write elsewhere",
         errnoText(errno));
  return code;
}

} // namespace
} // namespace inf

int main(int argc, char **argv) {
  try {
    return inf::run(argc, argv);
  } catch (const inf::Error &error) {
    inf::say(fmt::format("error: {}", error.what()));
    return int(error.code);
  } catch (const std::system_error &error) { // fmt::print on a full stdout
    inf::say(fmt::format("error: {}; free space or write elsewhere", error.what()));
    return int(inf::ErrorCode::Io);
  } catch (const std::exception &error) {
    inf::say(fmt::format("error: unexpected: {}; this is a bug", error.what()));
    return int(inf::ErrorCode::Internal);
  }
}
