// Conversations with gpt-oss-tiny, as a person at a terminal and as a program at a pipe.
#include <csignal>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/e2e/Models.h"
#include "tests/e2e/Terminal.h"
#include "tests/runtime/format/TestSupport.h"

using namespace inf;
using namespace inf::test;
using ::testing::HasSubstr;
using ::testing::Not;

namespace {

const std::string dim = "\033[2m", plain = "\033[22m";
const std::string cat = "Tell me a story about a cat.";

/// infrun reads `lines` from a file as standard input.
Finished piped(const std::string &lines, Arguments arguments) {
  const TempFolder folder;
  writeBytes(folder / "lines", lines);
  std::string command = std::string("exec \"$0\" \"$@\" < '") + (folder / "lines") + "'";
  arguments.insert(arguments.begin(), {"-c", command, INFRUN_PATH});
  return run("/bin/sh", arguments);
}

nlohmann::json readJson(const std::string &path) {
  std::ifstream file(path);
  return nlohmann::json::parse(file);
}

TEST(Chat, AConversationAtATerminal) {
  const TempFolder folder;
  const std::string saved = folder / "saved.json";
  Terminal terminal({"chat", tinyExact("avx2"), "--date", "none", "--threads", "1"}, folder / "");
  EXPECT_THAT(terminal.waitFor("> "), HasSubstr("chat format harmony"));

  // An answer streams, its reasons dimmed.
  terminal.type(cat + "\n");
  std::string first = terminal.waitFor("\n> ");
  EXPECT_THAT(first, HasSubstr(dim + "The user wants a story about a cat." + plain + "\n\n"));
  EXPECT_GT(first.size(), 200u) << first;

  // Ctrl-C in the middle of an answer stops it; the chat goes on. The process is held while the
  // key is pressed, so that the answer can't be over by then.
  terminal.type("Tell me a story about a dog.\n");
  terminal.waitFor(dim);
  terminal.signal(SIGSTOP);
  terminal.type("\x03");
  terminal.signal(SIGCONT);
  EXPECT_THAT(terminal.waitFor("\n> "), HasSubstr("infrun: stopped\n"));

  // What was stopped before it said anything is forgotten together with its question.
  terminal.type("/save " + saved + "\n");
  terminal.waitFor("Saved ");
  terminal.waitFor("\n> ");
  nlohmann::json messages = readJson(saved)["messages"];
  ASSERT_GE(messages.size(), 2u);
  EXPECT_EQ(messages[0]["content"], cat);
  EXPECT_EQ(messages[1]["reasoning"], "The user wants a story about a cat.");
  EXPECT_THAT(first, HasSubstr(messages[1]["content"]));

  // Lines that go on, a block, a command that is none, statistics.
  terminal.type("/reset\n");
  terminal.waitFor("forgotten.\n> ");
  terminal.type("Tell me a story\\\nabout a bird.\n");
  terminal.waitFor("about a bird.\n");
  EXPECT_THAT(terminal.waitFor("\n> "), HasSubstr(plain));
  terminal.type("\"\"\"/Tell me a story\nabout a fox.\"\"\"\n");
  terminal.waitFor(plain);
  terminal.waitFor("\n> ");
  terminal.type("/stats\n");
  EXPECT_THAT(terminal.waitFor("\n> "), HasSubstr("evaluated"));
  terminal.type("/nonsense\n");
  EXPECT_THAT(terminal.waitFor("\n> "), HasSubstr("there is no command '/nonsense'"));

  // A saved conversation goes on where it was: the same messages, to the letter.
  terminal.type("/load " + saved + "\n");
  EXPECT_THAT(terminal.waitFor("\n> "), HasSubstr("Loaded " + std::to_string(messages.size())));
  terminal.type("/save " + saved + "2\n");
  terminal.waitFor("Saved ");
  terminal.waitFor("\n> ");
  EXPECT_EQ(readJson(saved + "2"), readJson(saved));

  // Ctrl-C takes back what is being typed; at an empty prompt it ends the chat.
  terminal.type("never mind");
  terminal.waitFor("never mind");
  terminal.type("\x03");
  terminal.waitFor("\n> ");
  terminal.type("\x03");
  EXPECT_EQ(terminal.finish(), 0);

  std::ifstream history(folder / "inf/history");
  std::string lines((std::istreambuf_iterator<char>(history)), {});
  EXPECT_THAT(lines, HasSubstr("cat."));
}

TEST(Chat, CtrlDEndsAndHiddenReasonsAreNotShown) {
  const TempFolder folder;
  Terminal terminal({"chat", tinyExact("avx2"), "--hide-reasoning"}, folder / "");
  terminal.waitFor("> ");
  terminal.type(cat + "\n");
  std::string answer = terminal.waitFor("\n> ");
  EXPECT_THAT(answer, Not(HasSubstr("The user wants")));
  EXPECT_THAT(answer, Not(HasSubstr(dim)));
  terminal.type("\x04");
  EXPECT_EQ(terminal.finish(), 0);
}

TEST(Chat, ThroughAPipeAnswersComeWithoutCodes) {
  const TempFolder folder;
  Finished finished = piped(cat + "\n/save " + (folder / "saved.json") + "\n",
                            {"chat", tinyExact("avx2"), "--date", "2026-01-31"});
  ASSERT_EQ(finished.code, 0) << finished.err;
  EXPECT_EQ(finished.err, "");
  std::string answer = readJson(folder / "saved.json")["messages"][1]["content"];
  EXPECT_GT(answer.size(), 100u);
  EXPECT_EQ(finished.out, answer + "\nSaved 2 messages to " + (folder / "saved.json") + ".\n");
  Finished once = infrun({tinyExact("avx2"), "--prompt", cat, "--chat", "--date", "2026-01-31",
                          "--max-tokens", "1000"});
  EXPECT_EQ(once.code, 0) << once.err;
  EXPECT_EQ(once.out, answer + "\n");
  EXPECT_THAT(once.err, HasSubstr("finish stop"));
}

TEST(Chat, ThroughAPipeAMistakeEndsIt) {
  expectRefused(piped("/nonsense\n", {"chat", tinyExact("avx2")}), 2, {"/nonsense"});
  expectRefused(piped("/load /nowhere.json\n", {"chat", tinyExact("avx2")}), 5, {"/nowhere.json"});
  expectRefused(piped(cat + "\n", {"chat", tinyExact("avx2"), "--context", "16"}), 6, {"16"});
  expectRefused(piped("", {"chat", tinyExact("avx2"), "--chat-format", "jinja"}), 2,
                {"jinja", "harmony, chatml"});
}

TEST(Chat, FilesThatAreNoConversationAreRefused) {
  const TempFolder folder;
  for (const char *text :
       {"", "[]", "{\"version\": 2, \"messages\": []}", "{\"version\": 1}",
        R"({"version": 1, "effort": "low", "messages": [{"role": "system", "content": ""}]})",
        R"({"version": 1, "effort": "huge", "messages": []})",
        R"({"version": 1, "effort": "low", "messages": [{"role": "user", "content": 1}]})"}) {
    writeBytes(folder / "bad.json", std::string(text));
    expectRefused(piped("/load " + (folder / "bad.json") + "\n", {"chat", tinyExact("avx2")}), 4,
                  {"bad.json"});
  }
}

TEST(Chat, ABudgetOfReasoningLeadsToAnAnswer) {
  Finished finished = piped(cat + "\n/stats\n", {"chat", tinyExact("avx2"), "--reasoning-budget",
                                                 "5", "--max-tokens", "40"});
  ASSERT_EQ(finished.code, 0) << finished.err;
  // The budget and the token that ends the reasoning.
  EXPECT_THAT(finished.out, HasSubstr("(6 of reasoning)"));
  EXPECT_GT(finished.out.size(), 150u);
}

/// What is used again of a turn must not be told from what is computed anew: a process that loads
/// the conversation, and so evaluates all of it, answers the same.
TEST(Chat, ATurnThatIsUsedAgainGivesTheSameAnswer) {
  const TempFolder folder;
  const std::string saved = folder / "saved.json";
  const Arguments arguments = {"chat", tinyExact("avx2"), "--max-tokens", "30", "--date", "none"};
  Finished warm = piped(cat + "\n/save " + saved + "\nAnd a dog?\n/stats\n", arguments);
  ASSERT_EQ(warm.code, 0) << warm.err;
  Finished cold = piped("/load " + saved + "\nAnd a dog?\n/stats\n", arguments);
  ASSERT_EQ(cold.code, 0) << cold.err;
  auto answer = [](const std::string &out) {
    size_t begin = out.find("saved.json.\n") + 12, end = out.rfind("prompt ");
    return out.substr(begin, end - begin);
  };
  EXPECT_GT(answer(warm.out).size(), 20u) << warm.out;
  EXPECT_EQ(answer(warm.out), answer(cold.out));
  EXPECT_THAT(cold.out, HasSubstr(" 0 reused"));
  EXPECT_THAT(warm.out, Not(HasSubstr(" 0 reused")));
}

/// The number in front of `unit` in `text`.
unsigned numberBefore(const std::string &text, const std::string &unit) {
  size_t end = text.find(unit);
  if (end == std::string::npos || end == 0)
    return 0;
  return static_cast<unsigned>(
      std::stoul(text.substr(text.find_last_not_of("0123456789", end - 1) + 1)));
}

/// However far the attention windows moved on with the answer, the next turn goes on from where
/// this one's prompt ended.
TEST(Chat, NothingOfAPromptRunsAgainAfterALongAnswer) {
  Finished finished =
      piped(cat + "\n/stats\nAnd a dog?\n/stats\n", {"chat", tinyExact("avx2"), "--max-tokens",
                                                     "300", "--temperature", "1", "--seed", "3"});
  ASSERT_EQ(finished.code, 0) << finished.err;
  const size_t second = finished.out.rfind("prompt ");
  const std::string first = finished.out.substr(0, second);
  EXPECT_GT(numberBefore(first, " tokens ("), 150u) << first;
  // And what of the answer begins alike in the next prompt.
  EXPECT_GE(numberBefore(finished.out.substr(second), " reused"), numberBefore(first, " tokens: "));
}

} // namespace
