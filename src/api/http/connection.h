// SPDX-License-Identifier: Apache-2.0
// Internal to http/: one client connection. Everything here happens on its io thread.
#pragma once

#include <array>
#include <atomic>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>

#include "api/http/body_budget.h"
#include "api/http/connection_slot.h"
#include "api/http/exchange.h"
#include "api/http/io_thread.h"
#include "api/http/limits.h"
#include "api/http/message.h"
#include "api/http/transport.h"

namespace o3::api::http {

class Connection;
class Turn;

// What the connections of a server share; outlives them all.
struct Shared {
  Limits limits;
  Judge judge;
  Refuse refuse;
  NewRequestId new_id;
  BodyBudget budget;
  std::unique_ptr<boost::asio::ssl::context> tls{};  // null: plain HTTP
  std::atomic<int64_t> connections{0};
  std::atomic<int64_t> turns{0};      // requests between their head and the end of their answer
  std::atomic<bool> draining{false};  // answers end their connection
  std::atomic<bool> closed{false};    // the port is closed: what was accepted last is dropped
  std::atomic<bool> stopping{false};  // io threads are about to end: nothing may be posted
};

struct Accepted {
  ConnectionSlot slot;  // given back after the socket is closed
  Socket socket;
};

// The connections of one io thread.
struct Group {
  Group(IoThread& thread, Shared& all) : io(thread), shared(all) {}
  IoThread& io;
  Shared& shared;
  std::unordered_set<std::shared_ptr<Connection>> members;
  int64_t date_second = -1;
  std::string date;  // of date_second

  void adopt(Accepted accepted);
  void tick(Nanoseconds now);  // closes what is overdue
  void close_idle();
  void close_all();
  const std::string& date_now();
};

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(Group& group, Accepted accepted);
  ~Connection() = default;
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void start();
  bool overdue(Nanoseconds now) const noexcept {
    return deadline_ <= now || write_deadline_ <= now;
  }
  void give_up(Nanoseconds now);  // when overdue
  // One that came during the drain has its first request to be answered.
  bool idle() const noexcept { return state_ == State::kHead && in_.empty() && !in_drain_; }
  void close();

  // For Turn. `turn` numbers the request: a late call for an earlier one does nothing.
  void respond(uint64_t turn, Response response);
  void begin_stream(uint64_t turn, const Response& head);
  bool send(uint64_t turn, std::string_view bytes);
  void end_stream(uint64_t turn);
  void drop(uint64_t turn);  // its handler will never answer
  bool serves(uint64_t turn) const noexcept {
    return turn == turn_ && state_ == State::kAnswer && !answered_;
  }
  bool open(uint64_t turn) const noexcept { return serves(turn) && !peer_ended_; }

 private:
  using Parser = boost::beast::http::request_parser<boost::beast::http::string_body>;

  enum class State : uint8_t {
    kHead,    // waiting for a request or reading its head
    kBody,    // reading its body
    kAnswer,  // a handler works on it, or its answer is being sent
    kLinger,  // everything is sent; swallows what the client still sends, so that it can read the
              // answer (closing with unread bytes would reset the connection)
    kClosed,
  };

  // connection.cc: reading.
  void on_handshake(bool done);
  void read();
  void on_read(size_t bytes);
  void on_peer_gone(bool clean_end);
  void advance();
  bool skip_empty_lines();
  bool take_head();
  void accept_head(std::string_view head);
  void expect_body(size_t most);
  void take_body();
  void hand_over();
  void refuse(int status, std::string message);

  // connection_write.cc: writing.
  void write_answer(Response response, bool head_only);
  void queue(std::string_view bytes);
  void flush();
  void on_written(size_t bytes);
  void answer_sent();
  void next_turn();
  void linger();
  void swallow(size_t bytes);
  void set_deadline(std::chrono::milliseconds after);
  void busy(bool now);  // keeps Shared::turns
  size_t unsent() const noexcept { return out_.size() + sending_.size() - sent_; }

  Group& group_;
  const Limits& limits_;
  ConnectionSlot slot_;
  Transport transport_;
  const bool in_drain_;  // accepted while the server drains
  State state_ = State::kHead;
  uint64_t turn_ = 0;
  Nanoseconds deadline_ = Nanoseconds::max();        // of the state
  Nanoseconds write_deadline_ = Nanoseconds::max();  // for the client to take some bytes

  bool reading_ = false;
  bool peer_ended_ = false;  // it sends no more
  std::string in_;           // read, not yet parsed
  size_t empty_lines_ = 0;   // before the request's head
  size_t scanned_ = 0;       // bytes of in_ known not to hold the end of the head or chunk's frame
  size_t swallowed_ = 0;     // while lingering
  Nanoseconds linger_end_ = Nanoseconds::max();
  std::optional<Parser> parser_;
  std::shared_ptr<Turn> incoming_;  // while its body is read
  std::weak_ptr<Turn> current_;     // while it is answered
  Handler handler_;
  size_t body_limit_ = 0;

  bool busy_ = false;
  bool writing_ = false;
  bool streaming_ = false;  // the head of a stream is queued
  bool answered_ = false;   // the answer's last byte is queued
  bool close_after_ = false;
  bool head_only_ = false;  // HEAD request
  bool http10_ = false;
  std::string request_id_;
  std::string out_;      // queued
  std::string sending_;  // being sent
  size_t sent_ = 0;      // of sending_

  std::array<char, 8192> chunk_;  // what one read fills
};

}  // namespace o3::api::http
