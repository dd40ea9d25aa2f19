#include "codegen/MemoryCode.h"

#include <algorithm>
#include <list>

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

// LLVM's half of GDB's JIT interface: GDB stops in the function, then reads the descriptor.
extern "C" {
extern jit_descriptor __jit_debug_descriptor;
void __jit_debug_register_code();
}

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
    config.PrePrunePasses.push_back([this](jitlink::LinkGraph &graph) { return keep(graph); });
    config.PostFixupPasses.push_back([this](jitlink::LinkGraph &graph) { return collect(graph); });
  }
  llvm::Error notifyFailed(MaterializationResponsibility &) override {
    return llvm::Error::success();
  }
  llvm::Error notifyRemovingResources(JITDylib &, ResourceKey) override {
    return llvm::Error::success();
  }
  void notifyTransferringResources(JITDylib &, ResourceKey, ResourceKey) override {}

private:
  /// What is reached by relative calls alone would lose its name.
  llvm::Error keep(jitlink::LinkGraph &graph) {
    for (jitlink::Symbol *symbol : graph.defined_symbols())
      symbol->setLive(true);
    return llvm::Error::success();
  }
  llvm::Error collect(jitlink::LinkGraph &graph) {
    for (const jitlink::Symbol *symbol : graph.defined_symbols())
      if (symbol->hasName() && symbol->isCallable() && symbol->getSize() != 0)
        symbols.push_back(
            {symbol->getName().str(), symbol->getAddress().getValue(), symbol->getSize()});
    return llvm::Error::success();
  }

  std::vector<CodeSymbol> &symbols;
};

/// Lists objects in the descriptor, and takes them out again, which LLVM's own registrar does not.
/// Compiles come one at a time, so that no lock is needed.
class GdbRegistrar : public DebugObjectRegistrar {
public:
  explicit GdbRegistrar(std::list<jit_code_entry> &listed) : entries(listed) {}

  llvm::Error registerDebugObject(ExecutorAddrRange object, bool tell) override {
    jit_descriptor &descriptor = __jit_debug_descriptor;
    jit_code_entry &entry = entries.emplace_back(jit_code_entry{
        descriptor.first_entry, nullptr, object.Start.toPtr<const char *>(), object.size()});
    if (entry.next_entry)
      entry.next_entry->prev_entry = &entry;
    descriptor.first_entry = &entry;
    if (tell)
      announce(entry, JIT_REGISTER_FN);
    return llvm::Error::success();
  }

  static void withdraw(jit_code_entry &entry) {
    (entry.prev_entry ? entry.prev_entry->next_entry : __jit_debug_descriptor.first_entry) =
        entry.next_entry;
    if (entry.next_entry)
      entry.next_entry->prev_entry = entry.prev_entry;
    announce(entry, JIT_UNREGISTER_FN);
  }

private:
  static void announce(jit_code_entry &entry, jit_actions_t action) {
    __jit_debug_descriptor.relevant_entry = &entry;
    __jit_debug_descriptor.action_flag = action;
    __jit_debug_register_code();
  }

  std::list<jit_code_entry> &entries;
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
  std::list<jit_code_entry> debugEntries;
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
    // Objects without line numbers count too: names are what they are registered for.
    auto registrar = std::make_unique<GdbRegistrar>(debugEntries);
    layer.addPlugin(std::make_shared<DebugObjectManagerPlugin>(
        session, std::move(registrar), /*RequireDebugSections=*/false, /*AutoRegisterCode=*/true));
    layer.addPlugin(std::make_shared<SymbolPlugin>(symbols));
  }
  ~Linker() {
    for (jit_code_entry &entry : debugEntries)
      GdbRegistrar::withdraw(entry);
    llvm::consumeError(session.endSession());
  }

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
