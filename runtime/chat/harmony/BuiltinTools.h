// How the tools that gpt-oss was trained with are declared in the system message. The wording is
// part of the format: other words are other tools to the model.
#pragma once

#include <string_view>

namespace inf {

std::string_view browserToolText();
std::string_view pythonToolText();

} // namespace inf
