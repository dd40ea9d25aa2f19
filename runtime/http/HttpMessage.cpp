#include "runtime/http/HttpMessage.h"

#include <algorithm>

#include <fmt/format.h>

namespace inf {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c; }

bool sameName(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return lower(x) == lower(y); });
}

std::string safeValue(std::string_view value) {
  std::string safe(value);
  for (char &c : safe)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      c = ' ';
  return safe;
}

} // namespace

std::string_view HttpRequest::field(std::string_view name) const {
  for (const HttpField &field : fields)
    if (sameName(field.name, name))
      return field.value;
  return {};
}

std::string_view reasonPhrase(unsigned status) {
  struct Phrase {
    unsigned status;
    std::string_view text;
  };
  static constexpr Phrase phrases[] = {{200, "OK"},
                                       {204, "No Content"},
                                       {400, "Bad Request"},
                                       {401, "Unauthorized"},
                                       {403, "Forbidden"},
                                       {404, "Not Found"},
                                       {405, "Method Not Allowed"},
                                       {408, "Request Timeout"},
                                       {413, "Content Too Large"},
                                       {415, "Unsupported Media Type"},
                                       {429, "Too Many Requests"},
                                       {431, "Request Header Fields Too Large"},
                                       {500, "Internal Server Error"},
                                       {503, "Service Unavailable"},
                                       {504, "Gateway Timeout"}};
  for (const Phrase &phrase : phrases)
    if (phrase.status == status)
      return phrase.text;
  return "Unknown";
}

std::string formatHead(const HttpResponse &response, std::string_view framing, bool keepAlive) {
  std::string head =
      fmt::format("HTTP/1.1 {} {}\r\n", response.status, reasonPhrase(response.status));
  if (!response.contentType.empty())
    head += fmt::format("Content-Type: {}\r\n", safeValue(response.contentType));
  for (const HttpField &field : response.fields)
    head += fmt::format("{}: {}\r\n", safeValue(field.name), safeValue(field.value));
  if (!framing.empty())
    head += fmt::format("{}\r\n", framing);
  head += keepAlive ? "Connection: keep-alive\r\n\r\n" : "Connection: close\r\n\r\n";
  return head;
}

std::string formatChunk(std::string_view data) {
  return fmt::format("{:x}\r\n{}\r\n", data.size(), data);
}

} // namespace inf
