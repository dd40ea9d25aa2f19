// One line on standard error for each request.
#pragma once

#include <string>

#include "runtime/server/ApiOptions.h"

namespace inf {

/// {"time", "id", "method", "path", "status", …}; no prompts and no answers.
std::string jsonLogLine(const RequestRecord &record, const std::string &time);
/// The same for people: "POST /v1/completions 200 0.213 s, prompt 12 (8 cached), generated 40".
std::string textLogLine(const RequestRecord &record);

} // namespace inf
