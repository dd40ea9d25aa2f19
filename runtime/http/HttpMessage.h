// What travels over HTTP, without the library that parses it.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace inf {

struct HttpField {
  std::string name, value;
};

struct HttpRequest {
  std::string method; ///< "GET"; as sent
  std::string path;   ///< "/v1/models"; percent-encoded as sent, without the query
  std::string query;  ///< behind the "?", which is not part of it
  std::vector<HttpField> fields;
  std::string body;
  std::shared_ptr<const void> bodyShare; ///< while it lives, the body counts as held in memory

  /// The value of the first field of that name, any case; "" when there is none.
  std::string_view field(std::string_view name) const;
};

struct HttpResponse {
  unsigned status = 200;
  std::string contentType = "application/json";
  std::vector<HttpField> fields; ///< besides type, length, date and connection
  std::string body;
  bool close = false; ///< the connection ends behind this response
};

/// "Not Found" for 404; "Unknown" for a number that is no status.
std::string_view reasonPhrase(unsigned status);

/// Status line and header, with the empty line behind. `framing` is the field that says where the
/// body ends ("Content-Length: 12"), "" when the connection's end does. Control characters in a
/// value become spaces, so that no value can start another field.
std::string formatHead(const HttpResponse &response, std::string_view framing, bool keepAlive);

/// One chunk of chunked transfer coding (RFC 9112, section 7.1); data is not empty.
std::string formatChunk(std::string_view data);
inline constexpr std::string_view lastChunk = "0\r\n\r\n";

} // namespace inf
