// A linear kernel's path on AMX tiles.
#pragma once

#include "codegen/linear/Epilogue.h"

namespace inf {

/// Emits all panels and rows of the call, into y. Expects context.weights and context.outOffset at
/// their start, and takes the registers that row pointers had: context.x is empty from here on.
void emitAmxTiles(LinearContext &context, Epilogue &epilogue); ///< q8 rows
void emitAmxBf16Product(LinearContext &context, Epilogue &epilogue);

} // namespace inf
