// SPDX-License-Identifier: Apache-2.0
// Sockets, HTTP/1.1 framing, limits and time-outs; knows nothing of what is served.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "api/http/exchange.h"
#include "api/http/io_thread.h"
#include "api/http/limits.h"
#include "api/http/tls_files.h"
#include "base/clock.h"
#include "base/result.h"

namespace o3::api::http {

struct HttpOptions {
  std::string host = "127.0.0.1";  // an IP address or "localhost"
  uint16_t port = 0;               // 0: any free one
  size_t io_threads = 2;
  Limits limits;
  TlsFiles tls{};
};

class HttpServer {
 public:
  // Binds; accepts nothing before start(). The clock must outlive the server. Raises the process's
  // soft limit of open files as far as max_connections needs and the hard one allows; where fewer
  // fit, max_connections is what fits. kUnavailable: the address is taken, too few files may be
  // open.
  static Result<std::unique_ptr<HttpServer>> create(const HttpOptions& options, const Clock& clock);
  ~HttpServer();  // stop()

  // The judge sees every head; refuse words the answers this layer gives by itself; every answer
  // has an id of new_id. All are called on any io thread.
  void start(Judge judge, Refuse refuse, NewRequestId new_id);

  uint16_t port() const noexcept;
  bool loopback() const noexcept;  // bound to an address that other machines cannot reach
  size_t io_count() const noexcept;
  IoThread& io(size_t index) noexcept;

  int64_t connections() const noexcept;
  int64_t busy() const noexcept;  // requests between their head and the end of their answer

  // Closes idle connections, ends the others with the answer they wait for, a new one with its
  // first: the port stays open, so that a probe is told "not ready" and not that nobody is there.
  void begin_drain();
  // Takes no new connections.
  void close_port();
  // Closes every connection (handlers see their client leave) and joins the io threads.
  void stop();

 private:
  struct State;
  explicit HttpServer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace o3::api::http
