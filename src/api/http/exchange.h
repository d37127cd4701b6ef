// SPDX-License-Identifier: Apache-2.0
// One request and the way to answer it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "api/http/message.h"
#include "base/clock.h"

namespace o3::api::http {

// Made by the connection when a request is complete, shared by whoever works on the answer. If the
// last owner lets go of it without an answer, the client gets a 500: forgetting fails closed.
// After the client left, every call is allowed and does nothing.
class Exchange {
 public:
  virtual ~Exchange() = default;

  RequestHead head;
  std::string body;        // the worker takes it (std::move)
  std::string request_id;  // ours, also in the X-Request-Id field of the answer
  Nanoseconds started{};   // monotonic, when the head was complete

  // Any thread.
  virtual void post(std::function<void()> work) = 0;  // runs on the connection's io thread
  virtual void respond(Response response) = 0;        // the whole answer
  virtual size_t io_index() const noexcept = 0;
  virtual void release_body() noexcept = 0;  // body is no longer held: its budget is given back

  // On the io thread only.
  virtual bool open() const noexcept = 0;  // the client is still there
  // Called at most once, if the client leaves before the answer is complete.
  virtual void on_gone(std::function<void()> callback) = 0;
  virtual void begin_stream(const Response& answer) = 0;
  // Queues bytes of a stream; false: too much is unsent already (nothing was queued), or the
  // client left.
  virtual bool send(std::string_view bytes) = 0;
  virtual void end_stream() = 0;
  virtual void cut() = 0;  // closes the connection, so that the client sees a broken answer
};

using Handler = std::function<void(std::shared_ptr<Exchange>)>;

// What to do with a request whose head has arrived: refuse it before its body is read, or read at
// most body_limit bytes and call the handler (on the io thread; it must not block).
struct Verdict {
  std::optional<Response> refusal;
  size_t body_limit = 0;
  Handler handler;
};
using Judge = std::function<Verdict(const RequestHead&)>;

// Answers the http layer gives by itself: what is wrong with a request that no handler sees.
using Refuse = std::function<Response(int status, std::string message)>;
// What X-Request-Id says: another text each time.
using NewRequestId = std::function<std::string()>;

}  // namespace o3::api::http
