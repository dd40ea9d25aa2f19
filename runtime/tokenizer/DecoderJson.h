// The "decoder" of tokenizer.json.
#pragma once

#include "runtime/tokenizer/JsonFields.h"
#include "runtime/tokenizer/TokenDecoder.h"

namespace inf {

/// For a byte-level vocabulary, ByteLevel; for others Replace, ByteFallback, Strip, Metaspace, Fuse
/// and, after it, one Strip of the start. One of these or a Sequence. Fails with BadInput, by name,
/// for any other type, option or order.
TokenDecoder readDecoder(const Json &json, bool byteLevel);

} // namespace inf
