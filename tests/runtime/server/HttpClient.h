// A client that does exactly what a test says, byte by byte if it must.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace inf::test {

struct ClientResponse {
  unsigned status = 0;
  std::string head, body;                         ///< the body without chunk framing
  std::string field(std::string_view name) const; ///< "" when missing
};

/// All reads give up after 10 s.
class HttpClient {
public:
  explicit HttpClient(uint16_t port, int receiveBuffer = 0);
  ~HttpClient();
  HttpClient(const HttpClient &) = delete;
  HttpClient &operator=(const HttpClient &) = delete;

  void send(std::string_view bytes);
  /// False once the peer has closed or reset.
  bool trySend(std::string_view bytes);
  void request(std::string_view method, std::string_view path, std::string_view body = "",
               std::string_view fields = "");
  /// The next response; status 0 when the connection ended before one.
  ClientResponse response();
  /// What there is, at least one byte; "" at the end of the stream.
  std::string some();
  /// Reads until `text` has come; false when the stream ends before.
  bool readUntil(std::string_view text);
  void halfClose();
  /// Ends with a reset when `hard`.
  void close(bool hard = false);

private:
  bool fill();

  int fd = -1;
  std::string buffer; ///< read and not yet given out
};

/// One request on a connection of its own.
ClientResponse ask(uint16_t port, std::string_view method, std::string_view path,
                   std::string_view body = "", std::string_view fields = "");

/// The JSON texts of a stream's "data:" lines, "[DONE]" included.
std::vector<std::string> eventsOf(std::string_view body);

} // namespace inf::test
