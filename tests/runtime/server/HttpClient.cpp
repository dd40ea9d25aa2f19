#include "tests/runtime/server/HttpClient.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "runtime/base/Error.h"

namespace inf::test {

std::string ClientResponse::field(std::string_view name) const {
  size_t at = 0;
  while ((at = head.find("\r\n", at)) != std::string::npos) {
    at += 2;
    if (strncasecmp(head.c_str() + at, std::string(name).c_str(), name.size()) == 0 &&
        head.compare(at + name.size(), 2, ": ") == 0) {
      const size_t begin = at + name.size() + 2;
      return head.substr(begin, head.find("\r\n", begin) - begin);
    }
  }
  return "";
}

HttpClient::HttpClient(uint16_t port, int receiveBuffer) {
  fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (receiveBuffer > 0)
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &receiveBuffer, sizeof receiveBuffer);
  const timeval limit{10, 0};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(fd, reinterpret_cast<sockaddr *>(&address), sizeof address) != 0)
    fail(ErrorCode::Io, "connect: {}", errnoText(errno));
}

HttpClient::~HttpClient() { close(); }

void HttpClient::close(bool hard) {
  if (fd < 0)
    return;
  const linger now{1, 0};
  if (hard)
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
  ::close(fd);
  fd = -1;
}

void HttpClient::halfClose() { shutdown(fd, SHUT_WR); }

bool HttpClient::trySend(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0)
      return false;
    bytes.remove_prefix(size_t(sent));
  }
  return true;
}

void HttpClient::send(std::string_view bytes) {
  if (!trySend(bytes))
    fail(ErrorCode::Io, "send: {}", errnoText(errno));
}

void HttpClient::request(std::string_view method, std::string_view path, std::string_view body,
                         std::string_view fields) {
  const std::string type = body.empty() ? "" : "Content-Type: application/json\r\n";
  send(fmt::format("{} {} HTTP/1.1\r\nHost: test\r\n{}{}Content-Length: {}\r\n\r\n{}", method, path,
                   type, fields, body.size(), body));
}

bool HttpClient::fill() {
  char bytes[16384];
  const ssize_t got = recv(fd, bytes, sizeof bytes, 0);
  if (got <= 0)
    return false;
  buffer.append(bytes, size_t(got));
  return true;
}

std::string HttpClient::some() {
  if (buffer.empty())
    fill();
  return std::exchange(buffer, {});
}

bool HttpClient::readUntil(std::string_view text) {
  while (buffer.find(text) == std::string::npos)
    if (!fill())
      return false;
  buffer.erase(0, buffer.find(text) + text.size());
  return true;
}

ClientResponse HttpClient::response() {
  ClientResponse response;
  while (buffer.find("\r\n\r\n") == std::string::npos)
    if (!fill())
      return response;
  const size_t end = buffer.find("\r\n\r\n") + 4;
  response.head = buffer.substr(0, end);
  buffer.erase(0, end);
  response.status = unsigned(std::stoul(response.head.substr(9, 3)));
  if (response.status == 100)
    return this->response();
  if (response.field("Transfer-Encoding") != "chunked") {
    const std::string length = response.field("Content-Length");
    const size_t bytes = length.empty() ? SIZE_MAX : std::stoul(length);
    while (buffer.size() < bytes && fill()) {
    }
    response.body = buffer.substr(0, bytes);
    buffer.erase(0, bytes);
    return response;
  }
  while (true) {
    while (buffer.find("\r\n") == std::string::npos)
      if (!fill())
        return response;
    const size_t line = buffer.find("\r\n") + 2;
    const size_t bytes = std::stoul(buffer, nullptr, 16);
    while (buffer.size() < line + bytes + 2)
      if (!fill())
        return response;
    response.body += buffer.substr(line, bytes);
    buffer.erase(0, line + bytes + 2);
    if (bytes == 0)
      return response;
  }
}

ClientResponse ask(uint16_t port, std::string_view method, std::string_view path,
                   std::string_view body, std::string_view fields) {
  HttpClient client(port);
  client.request(method, path, body, fields);
  return client.response();
}

std::vector<std::string> eventsOf(std::string_view body) {
  std::vector<std::string> events;
  constexpr std::string_view mark = "data: ";
  size_t at = 0;
  while (at < body.size()) {
    const size_t end = std::min(body.find('\n', at), body.size());
    const std::string_view line = body.substr(at, end - at);
    if (line.starts_with(mark))
      events.emplace_back(line.substr(mark.size()));
    at = end + 1;
  }
  return events;
}

} // namespace inf::test
