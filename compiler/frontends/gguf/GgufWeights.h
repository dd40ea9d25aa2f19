// A GGUF file's tensors as a WeightSource: the form that declarations of weights describe.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "compiler/frontends/gguf/GgufFile.h"
#include "runtime/format/WeightDecl.h"
#include "runtime/format/WeightSource.h"

namespace inf {

/// Tensors whose rows rotate in neighbouring pairs in the file (GGML's "normal" rope), and the rows
/// of one head. In a head of D rows, the row that belongs at h * D/2 + i (h 0 or 1) lies at 2i + h.
using PairedHeads = std::map<std::string, uint64_t>;

/// Tensors of kept types are given as they lie, Q4_K, Q5_K and Q6_K as f32 values; rows of paired
/// heads in the order that rotates halves. Fails with BadInput for tensors that don't fit their
/// entry in `paired`.
std::unique_ptr<WeightSource> makeGgufSource(std::shared_ptr<const GgufFile> file,
                                             PairedHeads paired);

/// Every tensor that the declarations read is there, stored as they say and of the right shape, and
/// none is left over but the `others`; else BadInput with lists as checkCheckpoint gives them.
void checkGgufTensors(const std::vector<WeightDecl> &decls, const GgufFile &file,
                      const std::set<std::string> &others = {});

} // namespace inf
