// LLVM IR in, object code out: the step function and the glue around the kernels.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "codegen/Target.h"

namespace llvm {
class Module;
}

namespace inf {

/// Optimises `module` in place for `target`. No libc function is known to the optimiser, so that no
/// loop becomes a call of memcpy.
void optimizeModule(llvm::Module &module, const Target &target);

enum class EmitKind { Object, Assembly };
/// Code of an optimised module; the same input gives the same bytes. Fails with Internal.
std::vector<uint8_t> emitModule(llvm::Module &module, const Target &target, EmitKind kind);

/// The module's text.
std::string moduleText(const llvm::Module &module);

/// Adds the placeholders that the payload's section and program header are made of after linking
/// (runtime/format/Payload.h): an empty non-ALLOC section and a note.
void addPayloadPlaceholder(llvm::Module &module, const std::string &section);

} // namespace inf
