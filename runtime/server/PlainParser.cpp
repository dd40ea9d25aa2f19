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
    append(detokenizer->push(id), deltas);
  } catch (const Error &) {
    // An id without a token: a padding row of the embedding, which untrained models do choose.
    append(detokenizer->finish() + "\uFFFD", deltas);
    detokenizer.emplace(tokenizer, specials, TextPlace::Continuation);
  }
}

ChatEnd PlainParser::finish(bool stopped, std::vector<ChatDelta> &deltas) {
  append(detokenizer->finish(), deltas);
  return stopped ? ChatEnd::Stop : ChatEnd::Length;
}

std::string plainText(const Tokenizer &tokenizer, std::span<const int32_t> ids) {
  PlainParser parser(tokenizer, SpecialOutput::Show, TextPlace::Start);
  std::vector<ChatDelta> deltas;
  std::string text;
  const auto take = [&] {
    for (const ChatDelta &delta : deltas)
      text += delta.text;
    deltas.clear();
  };
  for (int32_t id : ids) {
    parser.push(id, deltas);
    take();
  }
  parser.finish(true, deltas);
  take();
  return text;
}

} // namespace inf
