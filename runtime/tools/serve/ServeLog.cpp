#include "runtime/tools/serve/ServeLog.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace inf {
namespace {

constexpr size_t shownBytes = 256; ///< of a path, which anybody can make long

/// Control characters must not reach the terminal.
std::string printable(std::string_view text) {
  std::string safe(text.substr(0, shownBytes));
  for (char &c : safe)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      c = '?';
  return safe;
}

} // namespace

std::string jsonLogLine(const RequestRecord &record, const std::string &time) {
  nlohmann::ordered_json line;
  line["time"] = time;
  line["id"] = record.id;
  line["method"] = record.method;
  line["path"] = record.path.substr(0, shownBytes);
  line["status"] = record.status;
  line["client_left"] = record.clientLeft;
  line["seconds"] = record.seconds;
  line["prompt_tokens"] = record.promptTokens;
  line["cached_tokens"] = record.cachedTokens;
  line["generated_tokens"] = record.generatedTokens;
  line["queued_seconds"] = record.queuedSeconds;
  line["first_token_seconds"] = record.firstTokenSeconds;
  if (!record.error.empty())
    line["error"] = record.error;
  return line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

std::string textLogLine(const RequestRecord &record) {
  std::string line =
      fmt::format("{} {} {} {} {:.3f} s", record.id.empty() ? "-" : record.id,
                  printable(record.method), printable(record.path), record.status, record.seconds);
  if (record.promptTokens > 0)
    line += fmt::format(", prompt {} ({} cached), generated {}", record.promptTokens,
                        record.cachedTokens, record.generatedTokens);
  if (record.clientLeft)
    line += ", client left";
  if (!record.error.empty())
    line += ": " + printable(record.error);
  return line;
}

} // namespace inf
