#include "compiler/driver/Inspect.h"

#include <nlohmann/json.hpp>

#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/MemoryBuffer.h"

#include "codegen/Kernel.h"
#include "codegen/Target.h"
#include "runtime/base/Error.h"
#include "runtime/format/FileInput.h"

namespace inf {
namespace {

std::string shapeText(const WeightDecl &decl) {
  if (decl.experts > 1)
    return fmt::format("[{}, {}, {}]", decl.experts, decl.rows, decl.columns);
  if (decl.isVector())
    return fmt::format("[{}]", decl.rows);
  return fmt::format("[{}, {}]", decl.rows, decl.columns);
}

std::string buildIdText(const PayloadHeader &header) {
  return fmt::format("{:016x}{:016x}", header.buildId[1], header.buildId[0]);
}

} // namespace

std::string inspectText(const PayloadInfo &info) {
  const Manifest &m = info.manifest;
  std::string text = fmt::format(
      "model      {} ({}), {} layers, hidden {}, vocabulary {}, context {}\n"
      "build      {}, abi {}\n"
      "target     {}\nneeds      {}\nnumerics   {}\n"
      "weights    {:.1f} MB in {} tensors{}\n"
      "per token  {:.2f} MB of weights read\n",
      m.modelName, m.architecture, m.layers, m.hidden, m.vocabulary, m.maxContext,
      buildIdText(info.header), m.abiVersion, m.target, FeatureSet{m.featureBits}.toString(),
      m.numerics, double(m.weightsBytes) / 1e6, m.weights.size(),
      info.hasWeights() ? "" : " (not in this file: run `infrun fill`)",
      double(m.bytesPerToken) / 1e6);
  text += fmt::format("\nkernels\n");
  for (const KernelUse &kernel : m.kernels)
    text += fmt::format("  {:6} B  {}\n            {}\n", kernel.codeBytes, kernel.symbol,
                        fmt::join(kernel.usedBy, "; "));
  text +=
      fmt::format("\nmemory plan: {} rows, {} output rows, arena {:.2f} MB, scratch {:.1f} KB a "
                  "thread\n",
                  m.plan.maxRows, m.plan.maxOutputRows, double(m.plan.arenaBytes) / 1e6,
                  double(m.plan.scratchBytes) / 1e3);
  for (const MemoryPlan::Buffer &buffer : m.plan.buffers)
    text += fmt::format("  {:>10} +{:<10} ops {}..{}  {}\n", buffer.offset, buffer.bytes,
                        buffer.firstUse, buffer.lastUse, buffer.name);
  text += "\nkv groups\n";
  for (const KvGroup &group : m.kvGroups)
    text +=
        fmt::format("  {}: {} layers, {}, {} tokens and {} bytes a block{}\n", group.name,
                    group.layers.size(), group.elementFormat, group.blockTokens, group.blockBytes,
                    group.window ? fmt::format(", window {}", group.window) : "");
  text += "\ntensors\n";
  for (const PackedWeight &weight : m.weights)
    text += fmt::format("  {:5} {:14} {:>12} B  {} {}\n", weightFormatName(weight.spec.format),
                        packedLayoutName(weight.spec.layout), weight.bytes, weight.decl.name,
                        shapeText(weight.decl));
  return text;
}

std::string inspectJson(const PayloadInfo &info) {
  nlohmann::ordered_json json;
  json["build_id"] = buildIdText(info.header);
  json["features"] = FeatureSet{info.manifest.featureBits}.names();
  json["has_weights"] = info.hasWeights();
  json["file_bytes"] = info.fileBytes;
  json["manifest"] = nlohmann::ordered_json::parse(manifestToJson(info.manifest));
  return json.dump(2) + "\n";
}

std::string inspectAssembly(const std::string &path) {
  // Only the headers and code are touched: the payload behind them may be gigabytes.
  MappedFile file(path);
  llvm::StringRef bytes(reinterpret_cast<const char *>(file.bytes().data()), file.bytes().size());
  auto object = llvm::object::ObjectFile::createObjectFile(llvm::MemoryBufferRef(bytes, path));
  if (!object)
    fail(ErrorCode::BadInput, "{} is no object file: {}", path, llvm::toString(object.takeError()));
  auto *elf = llvm::dyn_cast<llvm::object::ELFObjectFileBase>(object->get());
  if (!elf)
    fail(ErrorCode::BadInput, "{} is no ELF file", path);
  std::string text;
  for (const llvm::object::ELFSymbolRef &symbol : elf->symbols()) {
    llvm::Expected<llvm::StringRef> name = symbol.getName();
    llvm::Expected<uint64_t> address = symbol.getAddress();
    auto section = symbol.getSection();
    auto type = symbol.getType();
    bool isFunction = name && address && section && type &&
                      *type == llvm::object::SymbolRef::ST_Function &&
                      *section != elf->section_end() && symbol.getSize();
    if (isFunction) {
      llvm::Expected<llvm::StringRef> contents = (*section)->getContents();
      uint64_t begin = *address - (*section)->getAddress();
      if (contents && begin <= contents->size() && symbol.getSize() <= contents->size() - begin)
        text +=
            fmt::format("\n{}:\n{}", name->str(),
                        disassemble(contents->bytes_begin() + begin, symbol.getSize(), *address));
      else
        llvm::consumeError(contents.takeError());
      continue;
    }
    llvm::consumeError(name.takeError());
    llvm::consumeError(address.takeError());
    llvm::consumeError(section.takeError());
    llvm::consumeError(type.takeError());
  }
  return text;
}

std::string kernelTableText() {
  std::string text = fmt::format("{:10} {:6} {:6} {:11} {:4}  {:38} {}\n", "op", "format", "inputs",
                                 "isa", "rows", "features", "why");
  for (const KernelChoice &choice : kernelTable()) {
    bool linear = choice.op == KernelOp::Linear;
    KernelSpec spec;
    spec.op = choice.op;
    spec.isa = choice.isa;
    spec.rows = choice.rows;
    spec.inputs = choice.inputs;
    spec.order = choice.order;
    (linear ? spec.weights : spec.kv) = choice.format;
    text += fmt::format("{:10} {:6} {:6} {:11} {:4}  {:38} {}\n", linear ? "linear" : "attention",
                        weightFormatName(choice.format), inputFormatName(choice.inputs),
                        kernelIsaName(choice.isa), linear ? std::to_string(choice.rows) : "-",
                        kernelFeatures(spec).toString(), choice.why);
  }
  return text;
}

} // namespace inf
