// The commands of infrun. Each takes its arguments and returns the exit code; errors are thrown.
#pragma once

#include "runtime/tools/Arguments.h"
#include "runtime/tools/Output.h"

namespace inf {

int runCommand(Arguments arguments, Output &out); ///< infrun model.so --prompt …
int serveCommand(Arguments arguments, Output &out);
int scoreCommand(Arguments arguments, Output &out);
int benchCommand(Arguments arguments, Output &out);
int doctorCommand(Arguments arguments, Output &out);
int chatCommand(Arguments arguments, Output &out);
int fillCommand(Arguments arguments, Output &out);
int cacheCommand(Arguments arguments, Output &out);
int traceCommand(Arguments arguments, Output &out);

} // namespace inf
