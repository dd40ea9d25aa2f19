#include "codegen/MemoryCode.h"

#include <algorithm>

#include "llvm/ExecutionEngine/JITLink/EHFrameSupport.h"
#include "llvm/ExecutionEngine/JITLink/JITLink.h"
#include "llvm/ExecutionEngine/JITLink/JITLinkMemoryManager.h"
#include "llvm/ExecutionEngine/Orc/Core.h"
#include "llvm/ExecutionEngine/Orc/DebugObjectManagerPlugin.h"
#include "llvm/ExecutionEngine/Orc/EPCDebugObjectRegistrar.h"
#include "llvm/ExecutionEngine/Orc/ExecutorProcessControl.h"
#include "llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h"
#include "llvm/ExecutionEngine/Orc/TargetProcess/JITLoaderGDB.h"
#include "llvm/Support/MemoryBuffer.h"

#include "runtime/base/Error.h"

namespace inf {
namespace {

using namespace llvm::orc;
namespace jitlink = llvm::jitlink;

/// Writes down where each function of a linked object lies.
class SymbolPlugin : public ObjectLinkingLayer::Plugin {
public:
  explicit SymbolPlugin(std::vector<CodeSymbol> &found) : symbols(found) {}

  void modifyPassConfig(MaterializationResponsibility &, jitlink::LinkGraph &,
                        jitlink::PassConfiguration &config) override {
    // What is reached by relative calls alone would lose its name.
    config.PrePrunePasses.push_back([](jitlink::LinkGraph &graph) {
      for (jitlink::Symbol *symbol : graph.defined_symbols())
        symbol->setLive(true);
      return llvm::Error::success();
    });
    config.PostFixupPasses.push_back([this](jitlink::LinkGraph &graph) {
      for (const jitlink::Symbol *symbol : graph.defined_symbols())
        if (symbol->hasName() && symbol->isCallable() && symbol->getSize() != 0)
          symbols.push_back(
              {symbol->getName().str(), symbol->getAddress().getValue(), symbol->getSize()});
      return llvm::Error::success();
    });
  }
  llvm::Error notifyFailed(MaterializationResponsibility &) override {
    return llvm::Error::success();
  }
  llvm::Error notifyRemovingResources(JITDylib &, ResourceKey) override {
    return llvm::Error::success();
  }
  void notifyTransferringResources(JITDylib &, ResourceKey, ResourceKey) override {}

private:
  std::vector<CodeSymbol> &symbols;
};

template <typename T> T valueOf(llvm::Expected<T> expected, const char *doing) {
  if (!expected)
    fail(ErrorCode::Internal, "{} failed: {}", doing, llvm::toString(expected.takeError()));
  return std::move(*expected);
}

void check(llvm::Error error, const char *doing) {
  if (error)
    fail(ErrorCode::Internal, "{} failed: {}", doing, llvm::toString(std::move(error)));
}

} // namespace

struct MemoryCode::Linker {
  std::vector<CodeSymbol> symbols;
  std::string messages; ///< of the session: which symbols were missing
  ExecutionSession session;
  ObjectLinkingLayer layer;

  Linker()
      : session(valueOf(SelfExecutorProcessControl::Create(), "preparing to link in memory")),
        layer(session) {
    session.setErrorReporter(
        [this](llvm::Error error) { messages += llvm::toString(std::move(error)) + "; "; });
    layer.addPlugin(std::make_shared<EHFrameRegistrationPlugin>(
        session, std::make_unique<jitlink::InProcessEHFrameRegistrar>()));
    // By address: the library that holds LLVM may have been loaded without global symbols.
    // Objects without line numbers count too: names are what they are registered for.
    auto registrar = std::make_unique<EPCDebugObjectRegistrar>(
        session, ExecutorAddr::fromPtr(&llvm_orc_registerJITLoaderGDBWrapper));
    layer.addPlugin(std::make_shared<DebugObjectManagerPlugin>(
        session, std::move(registrar), /*RequireDebugSections=*/false, /*AutoRegisterCode=*/true));
    layer.addPlugin(std::make_shared<SymbolPlugin>(symbols));
  }
  ~Linker() { llvm::consumeError(session.endSession()); }

  void *link(const std::vector<std::vector<uint8_t>> &objects, const std::string &entry) {
    JITDylib &library = session.createBareJITDylib("model");
    for (const std::vector<uint8_t> &object : objects) {
      llvm::StringRef bytes(reinterpret_cast<const char *>(object.data()), object.size());
      check(layer.add(library, llvm::MemoryBuffer::getMemBufferCopy(bytes, "model")),
            "adding an object");
    }
    auto found = session.lookup({&library}, entry);
    if (!found)
      fail(ErrorCode::Internal, "linking the model in memory failed: {}{}", messages,
           llvm::toString(found.takeError()));
    std::sort(symbols.begin(), symbols.end(),
              [](const CodeSymbol &a, const CodeSymbol &b) { return a.address < b.address; });
    return found->getAddress().toPtr<void *>();
  }
};

MemoryCode::MemoryCode(const std::vector<std::vector<uint8_t>> &objects,
                       const std::string &entrySymbol)
    : linker(std::make_unique<Linker>()), entryAddress(linker->link(objects, entrySymbol)) {}

MemoryCode::~MemoryCode() = default;

const std::vector<CodeSymbol> &MemoryCode::symbols() const { return linker->symbols; }

} // namespace inf
