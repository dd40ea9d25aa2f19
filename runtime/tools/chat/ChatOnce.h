// One question and its answer: `infrun model.so --prompt … --chat`.
#pragma once

#include <string>

#include "runtime/session/Session.h"
#include "runtime/tools/Interrupts.h"
#include "runtime/tools/Output.h"
#include "runtime/tools/chat/ChatOptions.h"

namespace inf {

struct ChatOnce {
  ChatOptions chat;
  SamplingOptions sampling;
  uint64_t maxTokens = 256;
};

/// Shows the answer (on a terminal its reasons too) and returns the status line.
std::string chatOnce(Session &session, const ChatOnce &options, const std::string &question,
                     Output &out, Interrupts &interrupts);

} // namespace inf
