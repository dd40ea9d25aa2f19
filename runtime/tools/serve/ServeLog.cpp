#include "runtime/tools/serve/ServeLog.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "runtime/tokenizer/Utf8.h"

namespace inf {
namespace {

constexpr size_t shownBytes = 256; ///< of what anybody can make long

/// Control characters, those of Latin-1 (U+0080 to U+009F) too, must not reach the terminal, nor
/// bytes that it could take for such.
std::string printable(std::string_view text) {
  const std::string whole = toWellFormed(text.substr(0, shownBytes));
  std::string safe;
  for (size_t i = 0; i < whole.size(); ++i) {
    const auto byte = static_cast<unsigned char>(whole[i]);
    const bool latin = byte == 0xC2 && static_cast<unsigned char>(whole[i + 1]) < 0xA0;
    i += latin ? 1 : 0;
    safe += latin || byte < 0x20 || byte == 0x7f ? '?' : whole[i];
  }
  return safe;
}

} // namespace

std::string jsonLogLine(const RequestRecord &record, const std::string &time) {
  nlohmann::ordered_json line;
  line["time"] = time;
  line["id"] = record.id;
  line["method"] = record.method.substr(0, shownBytes);
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
    line["error"] = record.error.substr(0, shownBytes);
  // Escaped but for ASCII: these lines are shown in terminals as well.
  return line.dump(-1, ' ', true, nlohmann::ordered_json::error_handler_t::replace);
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
