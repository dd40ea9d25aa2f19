#include "runtime/server/PlainParser.h"

#include "runtime/base/Error.h"

namespace inf {
namespace {

void append(std::string text, std::vector<ChatDelta> &deltas) {
  if (!text.empty())
    deltas.push_back({ChatDelta::Kind::Content, std::move(text), 0, {}, {}});
}

} // namespace

void PlainParser::push(int32_t id, std::vector<ChatDelta> &deltas) {
  try {
    append(detokenizer.push(id), deltas);
  } catch (const Error &) {
    // An id without a token: a padding row of the embedding, which untrained models do choose.
    append(detokenizer.finish() + "\uFFFD", deltas);
  }
}

ChatEnd PlainParser::finish(bool stopped, std::vector<ChatDelta> &deltas) {
  append(detokenizer.finish(), deltas);
  return stopped ? ChatEnd::Stop : ChatEnd::Length;
}

} // namespace inf
