// infc diff: where two builds of a model part.
#pragma once

#include <CLI/CLI.hpp>

namespace inf {

struct DiffFlags {
  std::string a, b;
  std::string prompt;
  std::vector<int32_t> tokens;
  double tolerance = 1e-2;
  bool json = false;
};

/// The subcommand; it runs, and prints, when the arguments are parsed.
void addDiff(CLI::App &app, DiffFlags &flags);

} // namespace inf
