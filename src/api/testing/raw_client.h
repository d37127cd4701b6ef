// SPDX-License-Identifier: Apache-2.0
// For tests only: a client that sends exactly the bytes it is told to.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace o3::api::testing {

struct RawResponse {
  int status = 0;
  std::string head;
  std::string body;  // chunks joined

  std::string field(std::string_view name) const {
    const size_t at = head.find("\r\n" + std::string(name) + ": ");
    if (at == std::string::npos) return {};
    const size_t start = at + name.size() + 4;
    return head.substr(start, head.find("\r\n", start) - start);
  }
};

class RawClient {
 public:
  RawClient() : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {}
  explicit RawClient(uint16_t port, int receive_buffer = 0) : RawClient() {
    if (receive_buffer > 0) {
      ::setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
    }
    connect(port);
  }
  ~RawClient() { close(); }
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;

  bool connect(uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ = ::connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
    return connected_;
  }
  bool connected() const { return connected_; }
  void close() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }

  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<size_t>(sent));
    }
    return true;
  }

  // More bytes into in(); false at the end of the connection or after `most`.
  bool read_some(std::chrono::milliseconds most = std::chrono::seconds(10)) {
    pollfd ready{fd_, POLLIN, 0};
    if (::poll(&ready, 1, static_cast<int>(most.count())) <= 0) return false;
    char buffer[16384];
    const ssize_t got = ::recv(fd_, buffer, sizeof buffer, 0);
    if (got <= 0) {
      ended_ = true;
      return false;
    }
    in_.append(buffer, static_cast<size_t>(got));
    return true;
  }
  // Until in() holds `text`.
  bool read_until(std::string_view text) {
    while (in_.find(text) == std::string::npos) {
      if (!read_some()) return false;
    }
    return true;
  }
  // The server has closed: nothing but an end of stream follows within `most`.
  bool closed(std::chrono::milliseconds most = std::chrono::seconds(10)) {
    while (read_some(most)) {
    }
    return ended_;
  }

  // The next whole response; nullopt if the connection ends before. `to_head`: a HEAD request's.
  std::optional<RawResponse> response(bool to_head = false) {
    if (!read_until("\r\n\r\n")) return std::nullopt;
    RawResponse out;
    const size_t end = in_.find("\r\n\r\n");
    out.head = in_.substr(0, end + 2);
    in_.erase(0, end + 4);
    out.status = std::stoi(out.head.substr(9, 3));
    const std::string length = out.field("Content-Length");
    if (out.status == 100 || to_head || out.status == 304) return out;
    if (out.field("Transfer-Encoding") == "chunked") return chunked(std::move(out));
    if (length.empty()) {
      closed();
      out.body = std::exchange(in_, {});
      return out;
    }
    const size_t size = std::stoul(length);
    while (in_.size() < size) {
      if (!read_some()) return std::nullopt;
    }
    out.body = in_.substr(0, size);
    in_.erase(0, size);
    return out;
  }
  std::string& in() { return in_; }
  int fd() const { return fd_; }

 private:
  std::optional<RawResponse> chunked(RawResponse out) {
    while (true) {
      size_t line = 0;
      while ((line = in_.find("\r\n")) == std::string::npos) {
        if (!read_some()) return std::nullopt;
      }
      const size_t size = std::stoul(in_.substr(0, line), nullptr, 16);
      while (in_.size() < line + 2 + size + 2) {
        if (!read_some()) return std::nullopt;
      }
      out.body.append(in_, line + 2, size);
      in_.erase(0, line + 2 + size + 2);
      if (size == 0) return out;
    }
  }

  int fd_ = -1;
  bool connected_ = false;
  bool ended_ = false;
  std::string in_;
};

}  // namespace o3::api::testing
