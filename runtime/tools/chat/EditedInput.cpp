#include "runtime/tools/chat/EditedInput.h"

#include <histedit.h>
#include <langinfo.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include <fmt/format.h>

#include "runtime/base/Error.h"
#include "runtime/tools/Output.h"

namespace inf {
namespace {

constexpr int historyLines = 1000;
constexpr wchar_t replacement = 0xFFFD;

void useUtf8() {
  std::setlocale(LC_CTYPE, "");
  if (std::strcmp(nl_langinfo(CODESET), "UTF-8") != 0)
    std::setlocale(LC_CTYPE, "C.UTF-8");
}

/// One byte; 1, 0 at the end, -1 for an error.
int readByte(unsigned char &byte) {
  ssize_t got = 0;
  do
    got = ::read(STDIN_FILENO, &byte, 1);
  while (got < 0 && errno == EINTR);
  return static_cast<int>(got);
}

/// Bytes that follow a first byte of UTF-8; -1 when it is none.
int followers(unsigned char first) {
  if (first < 0x80)
    return 0;
  if (first >= 0xC2 && first < 0xE0)
    return 1;
  if (first >= 0xE0 && first < 0xF0)
    return 2;
  return first >= 0xF0 && first < 0xF5 ? 3 : -1;
}

} // namespace

std::string historyFile() {
  const char *state = std::getenv("XDG_STATE_HOME"), *home = std::getenv("HOME");
  if (state && state[0] == '/')
    return std::string(state) + "/inf/history";
  return home && home[0] == '/' ? std::string(home) + "/.local/state/inf/history" : "";
}

EditedInput::EditedInput(Interrupts &usedInterrupts)
    : interrupts(usedInterrupts), historyPath(historyFile()) {
  useUtf8();
  editor = el_init("infrun", stdin, stdout, stderr);
  past = history_init();
  if (!editor || !past)
    fail(ErrorCode::Machine,
         "the terminal can't be used for editing lines (TERM is '{}'). Give "
         "the input through a pipe.",
         std::getenv("TERM") ? std::getenv("TERM") : "");
  HistEvent event;
  ::history(past, &event, H_SETSIZE, historyLines);
  ::history(past, &event, H_SETUNIQUE, 1);
  if (!historyPath.empty())
    ::history(past, &event, H_LOAD, historyPath.c_str());
  el_set(editor, EL_EDITOR, "emacs");
  el_set(editor, EL_CLIENTDATA, this);
  el_set(editor, EL_PROMPT, &EditedInput::promptOf);
  el_set(editor, EL_HIST, ::history, past);
  el_set(editor, EL_GETCFN, &EditedInput::getCharacter);
  el_source(editor, nullptr); // ~/.editrc
}

EditedInput::~EditedInput() {
  el_end(editor);
  history_end(past);
}

char *EditedInput::promptOf(editline *editor) {
  EditedInput *self = nullptr;
  el_get(editor, EL_CLIENTDATA, &self);
  return self->shownPrompt.data();
}

/// libedit's reading of a character, but that Ctrl-C ends it. C code calls this: nothing is thrown.
int EditedInput::getCharacter(editline *editor, wchar_t *character) {
  EditedInput *self = nullptr;
  el_get(editor, EL_CLIENTDATA, &self);
  try {
    if (!waitForInput(self->interrupts)) {
      self->interrupted = true;
      return -1;
    }
  } catch (const Error &) {
    return -1;
  }
  unsigned char byte = 0;
  int got = readByte(byte);
  if (got <= 0)
    return got;
  int more = followers(byte);
  uint32_t code = more <= 0 ? byte : byte & (0x3Fu >> more);
  *character = more < 0 ? replacement : static_cast<wchar_t>(code);
  for (; more > 0; --more) {
    if (readByte(byte) <= 0)
      return 0;
    code = code << 6 | (byte & 0x3Fu);
    *character = (byte & 0xC0) == 0x80 ? static_cast<wchar_t>(code) : replacement;
  }
  if (*character >= 0xD800 && *character < 0xE000)
    *character = replacement;
  return 1;
}

LineRead EditedInput::read(const std::string &prompt) {
  shownPrompt = prompt;
  interrupted = false;
  el_resize(editor);
  // el_gets() would show the prompt first: a Ctrl-D typed as soon as it is seen would be lost.
  el_set(editor, EL_PREP_TERM, 1);
  int count = 0;
  const char *line = el_gets(editor, &count);
  if (interrupted) {
    const LineInfo *info = el_line(editor);
    LineRead cut = {LineRead::Kind::Interrupted,
                    std::string(info->buffer, static_cast<size_t>(info->lastchar - info->buffer))};
    el_reset(editor);
    return cut;
  }
  if (!line || count <= 0)
    return {};
  LineRead typed = {LineRead::Kind::Text, std::string(line, static_cast<size_t>(count))};
  if (typed.text.ends_with('\n'))
    typed.text.pop_back();
  if (!typed.text.empty())
    remember(typed.text);
  return typed;
}

void EditedInput::remember(const std::string &line) {
  HistEvent event;
  ::history(past, &event, H_ENTER, line.c_str());
  if (historyPath.empty() || historyFails)
    return;
  mode_t before = umask(077); // what one asks is nobody else's business
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(historyPath).parent_path(), error);
  bool saved = !error && ::history(past, &event, H_SAVE, historyPath.c_str()) != -1;
  umask(before);
  if (saved)
    return;
  historyFails = true;
  notice(fmt::format("warning: the history can't be written to '{}'.", historyPath));
}

} // namespace inf
