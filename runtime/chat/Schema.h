// JSON schemas of tools, read with a bound on their depth: they come from whoever sends a request.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "runtime/chat/Chat.h"

namespace inf {

/// Keys keep the order in which they were written.
using SchemaJson = nlohmann::ordered_json;

/// The parameters of a tool. Fails with Usage, naming the tool, when they are no JSON object or
/// nested deeper than 64.
SchemaJson parseToolSchema(const ChatTool &tool);

/// As Python's json.dumps writes it ("a": 1, "b": [1, 2]), which is what chat templates show to
/// models. `indent` > 0: one entry a line, as with json.dumps(indent=…).
std::string pythonJson(const SchemaJson &json, unsigned indent = 0);

} // namespace inf
