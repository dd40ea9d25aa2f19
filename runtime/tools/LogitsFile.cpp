#include "runtime/tools/LogitsFile.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "runtime/base/Error.h"

namespace inf {
namespace {

constexpr double mostBytes = 8e9; // a mistake rather than a wish: 10,000 tokens of gpt-oss

/// Length, JSON header padded with spaces so that the rows are aligned.
std::string headerOf(const std::vector<LogitsFile::Line> &lines, uint64_t vocabulary) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  uint64_t offset = 0;
  for (const LogitsFile::Line &line : lines) {
    uint64_t end = offset + line.tokens * vocabulary * sizeof(float);
    header[fmt::format("line{}.logits", line.number)] = {
        {"dtype", "F32"}, {"shape", {line.tokens, vocabulary}}, {"data_offsets", {offset, end}}};
    offset = end;
  }
  std::string json = header.dump();
  json.resize((json.size() + 7) / 8 * 8, ' ');
  std::string length(8, '\0');
  for (unsigned i = 0; i < 8; ++i)
    length[i] = static_cast<char>(json.size() >> (8 * i) & 0xff);
  return length + json;
}

std::string checkedPath(const std::string &path, const std::vector<LogitsFile::Line> &lines,
                        uint64_t vocabulary) {
  double bytes = 0; // a double can't wrap
  for (const LogitsFile::Line &line : lines)
    bytes += 4.0 * static_cast<double>(line.tokens) * static_cast<double>(vocabulary);
  if (bytes > mostBytes)
    fail(ErrorCode::Usage,
         "'{}' would take {:.1f} GB of logits, at most 8 GB are written. Score fewer tokens.", path,
         bytes / 1e9);
  return path;
}

std::span<const uint8_t> bytesOf(const void *data, size_t bytes) {
  return {static_cast<const uint8_t *>(data), bytes};
}

} // namespace

LogitsFile::LogitsFile(const std::string &path, const std::vector<Line> &lines, uint64_t vocabulary)
    : file(checkedPath(path, lines, vocabulary)) {
  std::string header = headerOf(lines, vocabulary);
  file.append(bytesOf(header.data(), header.size()));
}

void LogitsFile::append(std::span<const float> logits) {
  file.append(bytesOf(logits.data(), logits.size_bytes()));
}

void LogitsFile::commit() { file.commit(); }

} // namespace inf
