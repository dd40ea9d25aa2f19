// infrun chat model.so: a conversation in the terminal, or lines through a pipe.
#include <unistd.h>

#include <ctime>
#include <memory>
#include <optional>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "runtime/base/Error.h"
#include "runtime/tools/Commands.h"
#include "runtime/tools/Interrupts.h"
#include "runtime/tools/ModelOptions.h"
#include "runtime/tools/ThreadsReport.h"
#include "runtime/tools/chat/ChatOptions.h"
#include "runtime/tools/chat/Dialogue.h"
#include "runtime/tools/chat/EditedInput.h"

namespace inf {
namespace {

constexpr std::string_view help =
    R"(Usage: infrun chat MODEL.so [options]
A conversation; /help in it lists what can be done. Through a pipe: a message a
line, answers to stdout.
  --system TEXT      instructions for the model
  --effort E         low, medium or high: how hard models that reason think
  --hide-reasoning   show the answer only (always so through a pipe)
  --reasoning-budget N  tokens of reasoning, then the answer must come
  --chat-format F    harmony, chatml, ... instead of the model's own
  --date YYYY-MM-DD  the date the model is told (today's); none: no date
  --max-tokens N     of an answer; default: what the context holds
  --temperature T    0 always takes the likeliest token (0)
  --top-k K  --top-p P  --min-p P  --seed N      as for `infrun --help`
  --context N        tokens held at most, up to the model's maximum (4096)
  --threads N        default: physical cores allowed; decoding: fewest that do
  --load, --numa MODE   how weights come into memory, as for infrun itself
  --verbose          say which threads run and why
  --help             print this
Example: infrun chat model.so --system "Answer in rhymes." --effort low
)";

constexpr uint64_t defaultContext = 4096;

struct ChatCommandOptions {
  ModelOptions model;
  ChatOptions chat;
  SamplingOptions sampling;
  std::optional<uint64_t> maxTokens, reasoningBudget;
  bool hideReasoning = false;
  uint64_t context = defaultContext;
};

void addOptions(CLI::App &app, ChatCommandOptions &options) {
  addModelOptions(app, options.model);
  addLoadOption(app, options.model);
  addChatOptions(app, options.chat);
  app.add_flag("--hide-reasoning", options.hideReasoning);
  app.add_option("--reasoning-budget", options.reasoningBudget);
  app.add_option("--max-tokens", options.maxTokens);
  app.add_option("--temperature", options.sampling.temperature);
  app.add_option("--top-k", options.sampling.topK);
  app.add_option("--top-p", options.sampling.topP);
  app.add_option("--min-p", options.sampling.minP);
  app.add_option("--seed", options.sampling.seed);
  app.add_option("--context", options.context);
}

void checkOptions(const ChatCommandOptions &options) {
  options.sampling.validate();
  if (options.context == 0)
    fail(ErrorCode::Usage, "--context 0 holds nothing; expected at least 1.");
  if (options.maxTokens == uint64_t{0})
    fail(ErrorCode::Usage, "--max-tokens 0 leaves no room for an answer; expected at least 1.");
}

} // namespace

int chatCommand(Arguments arguments, Output &out) {
  CLI::App app("", "infrun chat");
  ChatCommandOptions options;
  addOptions(app, options);
  if (!parseArguments(app, help, std::move(arguments), out))
    return 0;
  checkOptions(options);
  ConversationOptions wanted = conversationOptions(options.chat);
  wanted.maxTokens = options.maxTokens.value_or(UINT64_MAX);
  wanted.reasoningBudget = options.reasoningBudget.value_or(UINT64_MAX);

  ThreadPlan plan = chooseThreads(options.model.threads, options.model.verbose);
  std::shared_ptr<const Model> model = loadModel(options.model, plan);
  std::unique_ptr<const ChatFormat> format = chatFormat(*model, options.chat);
  Interrupts interrupts; // before the session starts threads
  SessionOptions kept;
  kept.prefixes = true;
  kept.threadsFollowMemory = options.model.threadsFollowMemory();
  std::unique_ptr<Session> session = makeSession(model, options.context, plan, kept);
  SessionAnswers answers(*session, options.sampling);
  Conversation conversation(*format, answers, wanted);

  bool interactive = isatty(STDIN_FILENO) == 1 && out.isTerminal();
  std::unique_ptr<LineInput> input;
  if (interactive)
    input = std::make_unique<EditedInput>(interrupts);
  else
    input = std::make_unique<PlainInput>(interrupts);
  if (interactive)
    out.write(fmt::format("{}, chat format {}. /help lists the commands.\n",
                          visibleControls(model->manifest().modelName), format->name()));
  Dialogue(conversation, *input, out, interrupts, {interactive, options.hideReasoning}, interactive)
      .run();
  if (options.model.verbose)
    notice(decodeThreadsText(session->decodeThreads()));
  return 0;
}

} // namespace inf
