// SPDX-License-Identifier: Apache-2.0
// Writing, the turn from one request to the next, and the end of a connection.
#include <algorithm>
#include <array>
#include <boost/asio/buffer.hpp>
#include <charconv>

#include "api/http/connection.h"
#include "api/http/turn.h"

namespace o3::api::http {
namespace {

constexpr std::chrono::milliseconds kLingerTime{1000};  // for a client to send some bytes
constexpr size_t kSwallowBytes = 1 << 20;
constexpr size_t kKeptCapacity = 64 << 10;  // of a buffer between answers

// Frees what one large answer made a buffer grow to.
void recycle(std::string& buffer) {
  buffer.clear();
  if (buffer.capacity() > kKeptCapacity) buffer.shrink_to_fit();
}

std::string hex(size_t value) {
  std::array<char, 16> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value, 16).ptr;
  return {text.data(), end};
}

}  // namespace

void Connection::respond(uint64_t turn, Response response) {
  if (!serves(turn) || streaming_) return;
  if (const auto current = current_.lock()) current->answered();
  write_answer(std::move(response), head_only_);
}

void Connection::write_answer(Response response, bool head_only) {
  state_ = State::kAnswer;
  deadline_ = Nanoseconds::max();
  answered_ = true;
  if (response.close || group_.shared.draining.load()) close_after_ = true;
  response.fields.emplace_back(kRequestIdField, request_id_);
  const std::string head =
      render_head(response, Framing::kLength, !close_after_, group_.date_now());
  queue(head);
  if (!head_only && response.status != 304) queue(response.body);
}

void Connection::begin_stream(uint64_t turn, const Response& head) {
  if (!serves(turn) || streaming_) return;
  streaming_ = true;
  if (http10_ || group_.shared.draining.load()) close_after_ = true;
  Response with_id = head;
  with_id.fields.emplace_back(kRequestIdField, request_id_);
  const Framing framing = http10_ ? Framing::kToClose : Framing::kChunked;
  queue(render_head(with_id, framing, !close_after_, group_.date_now()));
}

bool Connection::send(uint64_t turn, std::string_view bytes) {
  if (!serves(turn) || !streaming_) return false;
  if (bytes.empty()) return true;
  if (unsent() + bytes.size() > limits_.stream_buffer_bytes) return false;
  if (http10_) {
    queue(bytes);
    return true;
  }
  out_.append(hex(bytes.size())).append("\r\n").append(bytes);
  queue("\r\n");
  return true;
}

void Connection::end_stream(uint64_t turn) {
  if (!serves(turn) || !streaming_) return;
  if (const auto current = current_.lock()) current->answered();
  answered_ = true;
  deadline_ = Nanoseconds::max();
  if (!http10_) return queue("0\r\n\r\n");
  if (unsent() == 0) answer_sent();
}

void Connection::drop(uint64_t turn) {
  if (!serves(turn)) return;
  if (streaming_) return close();
  respond(turn, group_.shared.refuse(500, "The server failed to answer this request."));
}

void Connection::queue(std::string_view bytes) {
  out_.append(bytes);
  flush();
}

void Connection::flush() {
  if (writing_ || unsent() == 0 || state_ == State::kClosed) return;
  if (sent_ == sending_.size()) {
    recycle(sending_);
    sent_ = 0;
    sending_.swap(out_);
  }
  writing_ = true;
  write_deadline_ = group_.io.clock().monotonic() + limits_.write_timeout;
  transport_.write_some(boost::asio::buffer(sending_.data() + sent_, sending_.size() - sent_),
                        [self = shared_from_this()](boost::system::error_code error, size_t bytes) {
                          self->writing_ = false;
                          if (error) {
                            self->close();
                          } else {
                            self->on_written(bytes);
                          }
                        });
}

void Connection::on_written(size_t bytes) {
  if (state_ == State::kClosed) return;
  sent_ += bytes;
  write_deadline_ = Nanoseconds::max();
  if (unsent() > 0) return flush();
  recycle(sending_);
  sent_ = 0;
  if (answered_) answer_sent();
}

void Connection::answer_sent() {
  busy(false);
  if (close_after_) return linger();
  next_turn();
}

void Connection::next_turn() {
  ++turn_;
  state_ = State::kHead;
  streaming_ = answered_ = close_after_ = head_only_ = http10_ = false;
  request_id_.clear();
  empty_lines_ = 0;
  parser_.reset();
  current_.reset();
  if (in_.empty()) recycle(in_);
  if (group_.shared.draining.load() && in_.empty()) return close();
  set_deadline(limits_.idle_timeout);
  advance();
  if (peer_ended_ && state_ != State::kAnswer) return close();
  read();  // may have paused while much was waiting
}

void Connection::linger() {
  transport_.end_sending([self = shared_from_this()](boost::system::error_code /*ignored*/) {});
  if (peer_ended_) return close();
  state_ = State::kLinger;
  in_.clear();
  linger_end_ = group_.io.clock().monotonic() + std::max(kLingerTime, limits_.body_timeout);
  set_deadline(kLingerTime);
  read();
}

// Clients that send a whole body before they read get to the end of one that is twice as large as
// allowed.
void Connection::swallow(size_t bytes) {
  swallowed_ += bytes;
  if (swallowed_ / 2 > limits_.body_bytes + kSwallowBytes) return close();
  set_deadline(kLingerTime);
  deadline_ = std::min(deadline_, linger_end_);
  read();
}

void Connection::close() {
  if (state_ == State::kClosed) return;
  const auto self = shared_from_this();  // the group may hold the last reference
  const bool unanswered = state_ == State::kAnswer && !answered_;
  state_ = State::kClosed;
  busy(false);
  transport_.close();
  incoming_.reset();
  parser_.reset();
  group_.members.erase(self);
  if (const auto current = current_.lock(); current && unanswered) current->client_left();
}

void Connection::give_up(Nanoseconds now) {
  if (write_deadline_ <= now) return close();
  if (state_ == State::kHead && !in_.empty()) {
    return refuse(408, "The request's head did not arrive in time.");
  }
  if (state_ == State::kBody) return refuse(408, "The request's body did not arrive in time.");
  close();
}

void Connection::set_deadline(std::chrono::milliseconds after) {
  deadline_ = group_.io.clock().monotonic() + after;
}

void Connection::busy(bool now) {
  if (busy_ == now) return;
  busy_ = now;
  group_.shared.turns.fetch_add(now ? 1 : -1);
}

}  // namespace o3::api::http
