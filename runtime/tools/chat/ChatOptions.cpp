#include "runtime/tools/chat/ChatOptions.h"

#include <ctime>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "runtime/base/Error.h"
#include "runtime/chat/Effort.h"

namespace inf {
namespace {

std::string today() {
  std::time_t now = std::time(nullptr);
  std::tm local = {};
  localtime_r(&now, &local);
  return fmt::format("{:%Y-%m-%d}", local);
}

bool isDate(const std::string &text) {
  constexpr std::string_view shape = "0000-00-00";
  if (text.size() != shape.size())
    return false;
  for (size_t i = 0; i < shape.size(); ++i)
    if (shape[i] == '-' ? text[i] != '-' : text[i] < '0' || text[i] > '9')
      return false;
  return true;
}

std::string dateOf(const std::string &option) {
  if (option.empty())
    return today();
  if (option == "none")
    return "";
  if (!isDate(option))
    fail(ErrorCode::Usage, "--date '{}' is no date; expected one like 2026-01-31, or none.",
         option);
  return option;
}

} // namespace

void addChatOptions(CLI::App &app, ChatOptions &options) {
  app.add_option("--system", options.system);
  app.add_option("--effort", options.effort);
  app.add_option("--chat-format", options.format);
  app.add_option("--date", options.date);
}

ConversationOptions conversationOptions(const ChatOptions &options) {
  ConversationOptions chosen;
  std::optional<ReasoningEffort> effort = effortNamed(options.effort);
  if (!effort)
    fail(ErrorCode::Usage, "--effort '{}': expected low, medium or high.", options.effort);
  chosen.settings.effort = *effort;
  chosen.settings.date = dateOf(options.date);
  chosen.system = options.system;
  return chosen;
}

std::unique_ptr<const ChatFormat> chatFormat(const Model &model, const ChatOptions &options) {
  const Tokenizer &tokenizer = model.requireTokenizer();
  return options.format.empty()
             ? ChatFormat::choose(tokenizer, model.manifest().architecture, model.chatTemplate())
             : ChatFormat::named(tokenizer, options.format);
}

} // namespace inf
