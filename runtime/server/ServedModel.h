// The model that a server answers with.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/chat/Chat.h"
#include "runtime/engine/CompletionService.h"

namespace inf {

/// All that is pointed to must outlive the server.
struct ServedModel {
  std::string id;      ///< what requests must name
  std::string buildId; ///< of the compiled file; part of system_fingerprint
  int64_t created = 0; ///< Unix time
  const Tokenizer &tokenizer;
  const ChatFormat *chat = nullptr; ///< null: /v1/chat/completions and /v1/responses are refused
  CompletionService &service;

  /// That a prompt and its answer may have: the context, or less where memory holds less.
  uint32_t tokens() const { return service.limits().capacity; }
};

} // namespace inf
