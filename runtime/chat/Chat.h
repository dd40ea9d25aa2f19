// Conversations to token ids and the ids of an answer back to its parts. A format is chosen by what
// the model is; everything above works with messages only.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/tokenizer/Tokenizer.h"

namespace inf {

enum class ChatRole : uint8_t { System, Developer, User, Assistant, Tool };

struct ChatToolCall {
  std::string id;        ///< "call_…"
  std::string name;      ///< "get_weather"; without a namespace
  std::string arguments; ///< the text as generated; JSON if the model did well
};

struct ChatMessage {
  ChatRole role = ChatRole::User;
  std::string content;
  std::string reasoning;               ///< of an assistant; kept only where the format keeps it
  std::vector<ChatToolCall> toolCalls; ///< of an assistant
  std::string toolCallId;              ///< of a tool: the call it answers
  std::string name;                    ///< of a tool: the function's; of others ignored
};

struct ChatTool {
  std::string name;
  std::string description;
  std::string parameters; ///< JSON schema, "" = no parameters
};

enum class ReasoningEffort : uint8_t { Low, Medium, High };

struct ChatSettings {
  ReasoningEffort effort = ReasoningEffort::Medium; ///< formats without it ignore it
  std::string date;          ///< "2026-01-31"; "" leaves it out. Day precision keeps prefixes equal
  std::string modelIdentity; ///< "": the format's own
  std::string knowledgeCutoff; ///< "2024-06"; "": the format's own
  bool browserTool = false;    ///< declare the built-in tools that the format's models know;
  bool pythonTool = false;     ///< formats without them refuse with Usage
  std::vector<ChatTool> tools;
  /// The answer must be a call of a tool (of this name, if not empty).
  bool requireTool = false;
  std::string requiredTool;
};

/// A part of an answer, in the order generated. All texts are well-formed UTF-8; joined over a
/// stream they are what the whole answer gives at once.
struct ChatDelta {
  enum class Kind : uint8_t {
    Reasoning,
    Content,
    ToolCallBegin,     ///< id and name; the call's number is `index`
    ToolCallArguments, ///< text to append to call `index`
  };
  Kind kind = Kind::Content;
  std::string text;
  uint32_t index = 0;
  std::string id, name;
};

/// Why the answer ended, as an API says it: a parser may turn Stop into ToolCalls.
enum class ChatEnd : uint8_t { Stop, Length, ToolCalls };

/// The state machine of one answer. Never throws for any sequence of ids of the vocabulary, emits
/// every byte of text once, and no control token's text.
class ChatParser {
public:
  virtual ~ChatParser() = default;
  /// The next generated id; appends to `deltas`.
  virtual void push(int32_t id, std::vector<ChatDelta> &deltas) = 0;
  /// The answer is over; `stopped`: by a stop token, else cut (length, stop string).
  virtual ChatEnd finish(bool stopped, std::vector<ChatDelta> &deltas) = 0;
  virtual bool inReasoning() const = 0;
  /// Tokens of reasoning so far, control tokens included.
  virtual uint32_t reasoningTokens() const = 0;
  /// The ids that lead from here, inside reasoning, to the beginning of the final answer; empty
  /// where the format has no reasoning.
  virtual std::vector<int32_t> endReasoning() const = 0;
  /// What went wrong in the answer but was repaired or passed on (arguments that aren't JSON, stray
  /// text in a header); "" when nothing did.
  virtual std::string warning() const = 0;
};

class ChatFormat {
public:
  virtual ~ChatFormat() = default;
  /// The format of a model. `architecture` is the manifest's; `chatTemplate` the checkpoint's Jinja
  /// text, "" when it has none: known templates are recognised by what they contain. Fails with
  /// BadInput, naming the known formats, when none fits. `tokenizer` must outlive the format.
  static std::unique_ptr<const ChatFormat>
  choose(const Tokenizer &tokenizer, std::string_view architecture, std::string_view chatTemplate);
  /// By name: "harmony", "chatml", "llama3", "llama2", "mistral", "zephyr", "qwen3", ...
  static std::unique_ptr<const ChatFormat> named(const Tokenizer &tokenizer, std::string_view name);

  virtual std::string_view name() const = 0;
  /// The ids of the conversation and the beginning of the assistant's answer. What users, tools and
  /// names wrote is encoded as ordinary text: "<|end|>" in it is seven characters. Fails with Usage
  /// for messages that the format can't take (a tool's answer without a call, an unknown role
  /// order), naming the message's index.
  virtual std::vector<int32_t> render(std::span<const ChatMessage> messages,
                                      const ChatSettings &settings) const = 0;
  virtual std::unique_ptr<ChatParser> parser(const ChatSettings &settings) const = 0;
  /// Besides the model's own stop tokens.
  virtual std::span<const int32_t> stopTokens() const = 0;
  virtual bool reasons() const = 0; ///< answers may have reasoning
  virtual bool hasTools() const = 0;
};

} // namespace inf
