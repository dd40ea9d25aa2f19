// Do the code and the payload of a model.so belong together, and does the code keep the contract?
#pragma once

#include <string>

#include "runtime/abi/inf_abi.h"
#include "runtime/format/Payload.h"

namespace inf {

/// Compares what the code says (inf_abi.h) with what the payload says: magic, version, sizes of the
/// structs, build id, feature bits, dimensions, KV groups, RoPE tables, memory plan; and checks
/// what the runtime relies on (strides, alignments, blocks that hold their layers). Fails with
/// BadInput naming the field, the value expected and the value found.
void checkCode(const inf_model &code, const PayloadInfo &payload, const std::string &path);

} // namespace inf
