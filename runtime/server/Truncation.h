// A conversation that has outgrown the context.
#pragma once

#include <cstddef>

#include "runtime/server/ChatStart.h"

namespace inf {

/// Drops whole turns (a user's message and all that follows up to the next one) from the oldest on,
/// as few as it takes for the prompt to leave room for the answer: the maximum of tokens asked for,
/// but at most half of the context. System and developer messages and the last turn stay. Returns
/// how many messages were dropped.
size_t dropOldestTurns(const ServedModel &model, ChatRequest &request, const char *param);

} // namespace inf
