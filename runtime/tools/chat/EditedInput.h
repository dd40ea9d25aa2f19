// Lines typed at a terminal, with editing and a history (libedit).
#pragma once

#include <string>

#include "runtime/tools/chat/LineInput.h"

struct editline;
struct history;

namespace inf {

class EditedInput final : public LineInput {
public:
  /// Reads the history file, if there is one. Sets the process's LC_CTYPE to a UTF-8 locale.
  explicit EditedInput(Interrupts &usedInterrupts);
  ~EditedInput() override;
  EditedInput(const EditedInput &) = delete;
  EditedInput &operator=(const EditedInput &) = delete;

  LineRead read(const std::string &prompt) override;

private:
  static char *promptOf(editline *editor);
  static int getCharacter(editline *editor, wchar_t *character);
  void remember(const std::string &line);

  Interrupts &interrupts;
  editline *editor;
  history *past;
  std::string shownPrompt, historyPath;
  bool interrupted = false;
  bool historyFails = false; ///< has been told
};

/// $XDG_STATE_HOME/inf/history, else ~/.local/state/inf/history; "" without a home.
std::string historyFile();

} // namespace inf
