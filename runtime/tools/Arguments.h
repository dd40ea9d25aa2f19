// Parsing a command's arguments.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

#include "runtime/tools/Output.h"

namespace inf {

using Arguments = std::vector<std::string>; ///< without the program's and the command's name

/// Parses into what `app` was told. Returns false when the user asked for help, which has then been
/// printed. `help` is written by hand so that it fits a screen; an option it does not mention is an
/// Internal error. Fails with Usage for arguments that don't parse.
/// `moreHelp` is what the flag given to CLI::App::set_help_all_flag prints.
bool parseArguments(CLI::App &app, std::string_view help, Arguments arguments, Output &out,
                    std::string_view moreHelp = {});

} // namespace inf
