#include "runtime/tools/Arguments.h"

#include <algorithm>

#include "runtime/base/Error.h"

namespace inf {
namespace {

void requireMentioned(const CLI::App &app, std::string_view help, std::string_view moreHelp) {
  for (const CLI::Option *option : app.get_options())
    for (const std::string &name : option->get_lnames())
      if (help.find("--" + name) == std::string_view::npos &&
          moreHelp.find("--" + name) == std::string_view::npos)
        fail(ErrorCode::Internal, "the help of {} does not mention --{}", app.get_name(), name);
}

} // namespace

bool parseArguments(CLI::App &app, std::string_view help, Arguments arguments, Output &out,
                    std::string_view moreHelp) {
  requireMentioned(app, help, moreHelp);
  std::reverse(arguments.begin(), arguments.end()); // CLI11 takes them from the back
  try {
    app.parse(std::move(arguments));
  } catch (const CLI::CallForHelp &) {
    out.write(help);
    return false;
  } catch (const CLI::CallForAllHelp &) {
    out.write(moreHelp);
    return false;
  } catch (const CLI::ParseError &error) {
    fail(ErrorCode::Usage, "{}. `{} --help` lists what it takes.", error.what(), app.get_name());
  }
  return true;
}

} // namespace inf
