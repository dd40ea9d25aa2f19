#include "compiler/driver/CompileInMemory.h"

#include "compiler/driver/Codegen.h"
#include "compiler/driver/Input.h"
#include "compiler/driver/Stages.h"
#include "runtime/abi/inf_abi.h"

namespace inf {

CompiledInMemory::CompiledInMemory(const CompileOptions &asked) {
  CompileOptions options = settledOptions(asked);
  options.emit = EmitAs::So;
  Target target = targetByName(options.target);
  CompileContext context;
  LoadedModel input = loadModel(context, options);
  runStages(context, *input.module, options, target, "");
  GeneratedCode code(context, *input.module, input.tokenizerJson, input.chatTemplate);
  payload = code.contents();
  std::vector<WeightDecl> decls;
  for (const PackedWeight &weight : payload.manifest.weights)
    decls.push_back(weight.decl);
  source = openWeights(options, input, decls);
  memory = std::make_unique<MemoryCode>(code.memoryObjects(), INF_ABI_SYMBOL);
}

void CompiledInMemory::packWeights(std::span<uint8_t> region, unsigned threads,
                                   const Progress &progress) const {
  if (!source)
    fail(ErrorCode::Usage,
         "--weights=none leaves nothing to run; give a checkpoint, or random:SEED");
  inf::packWeights(payload.manifest, *source, region, threads, progress);
}

} // namespace inf
