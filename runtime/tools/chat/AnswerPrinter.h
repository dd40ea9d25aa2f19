// Shows an answer while it comes.
#pragma once

#include <string_view>

#include "runtime/chat/Chat.h"
#include "runtime/tools/Output.h"

namespace inf {

struct PrinterOptions {
  bool terminal = false;      ///< codes for dim text; control characters of answers made visible
  bool hideReasoning = false; ///< always so where the output is no terminal
};

class AnswerPrinter {
public:
  AnswerPrinter(Output &usedOutput, const PrinterOptions &printerOptions)
      : out(usedOutput), options(printerOptions) {}

  void show(const ChatDelta &delta);
  /// Ends the answer with a line's end.
  void finish();

private:
  enum class Part { Nothing, Reasoning, Content };

  void enter(Part next);
  void write(std::string_view text);

  Output &out;
  PrinterOptions options;
  Part part = Part::Nothing;
  bool lineOpen = false;
};

/// Control characters but for tab and line feed as ^X, so that an answer can't steer a terminal.
std::string visibleControls(std::string_view text);

} // namespace inf
