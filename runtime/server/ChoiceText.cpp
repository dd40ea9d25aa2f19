#include "runtime/server/ChoiceText.h"

#include <algorithm>

#include "runtime/base/Error.h"
#include "runtime/tokenizer/TokenDecoder.h"

namespace inf {
namespace {

size_t charactersOf(std::string_view text) {
  return size_t(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

ReportedToken reported(const TokenEvent &event) {
  return {event.id, true, event.logprob, {event.top.begin(), event.top.end()}, 0};
}

} // namespace

ChoiceText::ChoiceText(const Tokenizer &tokenizerToUse, std::unique_ptr<ChatParser> choiceParser,
                       ChoiceOptions choiceOptions)
    : tokenizer(tokenizerToUse), parser(std::move(choiceParser)), options(std::move(choiceOptions)),
      stops(options.stop), reasonings(parser->inReasoning() ? 1 : 0) {
  if (!options.echo)
    return;
  contentCharacters = charactersOf(*options.echo);
  if (options.logprobs && !options.prompt.empty())
    echoed.push_back({options.prompt.front(), false, 0, {}, 0});
}

bool ChoiceText::hidden(int32_t id) const {
  if (options.showSpecial)
    return false;
  try {
    return tokenizer.isSpecial(id);
  } catch (const Error &) {
    return false; // an id without a token: shown as U+FFFD
  }
}

void ChoiceText::promptToken(const TokenEvent &event) {
  if (options.echo && options.logprobs)
    echoed.push_back(reported(event));
}

/// Where in the prompt's text each of its tokens begins.
void ChoiceText::placeEchoed() {
  DecodeState state;
  size_t characters = 0;
  std::string bytes;
  for (size_t i = 0; i < echoed.size(); ++i) {
    echoed[i].offset = characters;
    if (i < options.echoHidden)
      continue;
    bytes.clear();
    try {
      tokenizer.decodeNext(echoed[i].id, state, bytes);
      characters += charactersOf(bytes);
    } catch (const Error &) {
      ++characters; // an id without a token: shown as U+FFFD
      state = DecodeState::continuing();
    }
  }
}

/// The prompt's text, before anything else.
void ChoiceText::addEcho(AnswerPiece &piece) {
  if (std::exchange(started, true) || !options.echo)
    return;
  placeEchoed();
  if (!options.echo->empty())
    piece.deltas.push_back({ChatDelta::Kind::Content, *options.echo, 0, {}, {}});
  piece.logprobs = std::move(echoed);
}

void ChoiceText::remember(const TokenEvent &event) {
  if (!options.logprobs)
    return;
  if (hidden(event.id))
    held.clear(); // headers and markers make no text
  else
    held.push_back(reported(event));
}

void ChoiceText::show(std::string text, AnswerPiece &piece) {
  shownBytes += text.size();
  if (!text.empty())
    piece.deltas.push_back({ChatDelta::Kind::Content, std::move(text), 0, {}, {}});
  while (!pending.empty() && pending.front().begin < shownBytes) {
    piece.logprobs.push_back(std::move(pending.front().token));
    pending.pop_front();
  }
}

void ChoiceText::acceptContent(const std::string &text, AnswerPiece &piece) {
  for (ReportedToken &token : held) {
    token.offset = contentCharacters;
    pending.push_back({contentBytes, std::move(token)});
  }
  held.clear();
  contentBytes += text.size();
  contentCharacters += charactersOf(text);
  show(stops.push(text), piece);
  ended = ended || stops.stopped();
}

void ChoiceText::accept(ChatDelta delta, AnswerPiece &piece) {
  if (ended)
    return;
  if (delta.kind == ChatDelta::Kind::Content)
    return acceptContent(delta.text, piece);
  show(stops.finish(), piece); // content is over, for now
  held.clear();
  if (delta.kind == ChatDelta::Kind::ToolCallBegin && delta.index > 0 && options.oneToolCall) {
    ended = true;
    return;
  }
  piece.deltas.push_back(std::move(delta));
}

/// Which message of reasoning the deltas are of: those of one answer must not run into each other.
void ChoiceText::countReasoning(bool before) {
  reasonings += !before && parser->inReasoning() ? 1 : 0;
  for (ChatDelta &delta : deltas)
    if (delta.kind == ChatDelta::Kind::Reasoning)
      delta.index = reasonings;
}

AnswerPiece ChoiceText::push(const TokenEvent &event, TokenVerdict &verdict) {
  AnswerPiece piece;
  addEcho(piece);
  verdict.finish = options.promptOnly;
  if (ended || options.promptOnly)
    return piece;
  if (options.ids)
    piece.ids.push_back(event.id);
  if (event.stop && !event.forced) // it is no part of the answer: finish() hears of it
    return piece;
  remember(event);
  deltas.clear();
  const bool reasoned = parser->inReasoning();
  parser->push(event.id, deltas);
  countReasoning(reasoned);
  for (ChatDelta &delta : deltas)
    accept(std::move(delta), piece);
  if (options.reasoningBudget && !forced && parser->inReasoning() &&
      parser->reasoningTokens() >= *options.reasoningBudget) {
    verdict.force = parser->endReasoning();
    forced = true;
  }
  verdict.finish = ended;
  return piece;
}

AnswerPiece ChoiceText::finish(CompletionEnd how, ChoiceEnd &end) {
  AnswerPiece piece;
  addEcho(piece);
  deltas.clear();
  const bool cut = ended; // by a stop string, or before a second call
  end.reason = parser->finish(how == CompletionEnd::Stop, deltas);
  countReasoning(true);
  if (options.promptOnly) {
    end.reason = ChatEnd::Length;
    return piece;
  }
  for (ChatDelta &delta : deltas)
    accept(std::move(delta), piece);
  if (!ended)
    show(stops.finish(), piece);
  const bool stopped = cut || stops.stopped() || how == CompletionEnd::Sink;
  if (stopped)
    end.reason =
        options.oneToolCall && cut && !stops.stopped() ? ChatEnd::ToolCalls : ChatEnd::Stop;
  end.warning = parser->warning();
  return piece;
}

} // namespace inf
