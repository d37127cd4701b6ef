// SPDX-License-Identifier: Apache-2.0
// Reading: bytes -> head -> body -> handler. One read stays posted also while an answer is made,
// because its end is how a closed connection is noticed.
#include "api/http/connection.h"

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>

#include "api/http/head_check.h"
#include "api/http/turn.h"

namespace o3::api::http {
namespace {

namespace beast_http = boost::beast::http;

// A client may send its next request before it has the answer; what goes beyond this waits in the
// kernel.
constexpr size_t kPipelineBytes = 64 << 10;
constexpr std::chrono::milliseconds kUnreadTime{1000};  // for the answer, when nothing is read
// RFC 9112 section 2.2 lets a client send an empty line too many.
constexpr size_t kEmptyLines = 16;
// The frame of one chunk (its size line, extensions, trailer), which the parser needs in one piece.
constexpr size_t kChunkFrameBytes = 16 << 10;
// "0\r\n\r\n". Having seen "0\r\n", the parser asserts that the next call brings so much.
constexpr size_t kLeastLastChunk = 5;

std::string_view view(boost::beast::string_view text) {
  return {text.data(), text.size()};
}

RequestHead native(const beast_http::request_header<>& header) {
  RequestHead head;
  head.method = view(header.method_string());
  const std::string_view target = view(header.target());
  head.path = target.substr(0, target.find('?'));
  head.http10 = header.version() == 10;
  for (const auto& field : header) {
    head.fields.emplace_back(view(field.name_string()), view(field.value()));
  }
  return head;
}

int status_of(const Error& head_error) {
  if (head_error.code == Code::kTooLong) return 431;
  if (head_error.code != Code::kUnsupported) return 400;
  return head_error.param == "version" ? 505 : 501;
}

}  // namespace

Connection::Connection(Group& group, Accepted accepted)
    : group_(group),
      limits_(group.shared.limits),
      slot_(std::move(accepted.slot)),
      transport_(std::move(accepted.socket), group.shared.tls.get()),
      in_drain_(group.shared.draining.load()) {}

void Connection::start() {
  set_deadline(limits_.header_timeout);
  if (!transport_.needs_handshake()) return read();
  reading_ = true;
  transport_.handshake(
      [self = shared_from_this()](boost::system::error_code error) { self->on_handshake(!error); });
}

void Connection::on_handshake(bool done) {
  reading_ = false;
  if (state_ == State::kClosed) return;
  if (!done) return close();
  read();
}

void Connection::read() {
  if (reading_ || peer_ended_ || state_ == State::kClosed) return;
  if (state_ == State::kAnswer && in_.size() >= kPipelineBytes) {
    // Unread, it could leave and no one would know.
    if (!answered_) set_deadline(kUnreadTime);
    return;
  }
  reading_ = true;
  transport_.read_some(boost::asio::buffer(chunk_),
                       [self = shared_from_this()](boost::system::error_code error, size_t bytes) {
                         self->reading_ = false;
                         if (error) {
                           self->on_peer_gone(Transport::ended(error));
                         } else {
                           self->on_read(bytes);
                         }
                       });
}

void Connection::on_read(size_t bytes) {
  if (state_ == State::kClosed) return;
  if (state_ == State::kLinger) {
    return swallow(bytes);
  }
  in_.append(chunk_.data(), bytes);
  advance();
  read();
}

// The end of what a client sends looks the same whether it left or closed its sending half only.
// Work that takes long is cancelled; an answer that comes anyway is still sent.
void Connection::on_peer_gone(bool clean_end) {
  if (!clean_end || state_ != State::kAnswer) return close();
  peer_ended_ = true;
  if (const auto current = current_.lock(); current && !answered_) current->client_left();
}

void Connection::advance() {
  while (state_ == State::kHead && take_head()) {
  }
  if (state_ == State::kBody) take_body();
}

// False: more of them than anyone sends by mistake.
bool Connection::skip_empty_lines() {
  size_t end = 0;
  while (in_.compare(end, 2, "\r\n") == 0 && ++empty_lines_ <= kEmptyLines) end += 2;
  in_.erase(0, end);
  return empty_lines_ <= kEmptyLines;
}

// True if a head was taken from in_; the state has changed then.
bool Connection::take_head() {
  if (!skip_empty_lines()) {
    refuse(400, "Too many empty lines before the request.");
    return true;
  }
  if (in_.empty()) return false;
  const size_t from = scanned_ < 3 ? 0 : scanned_ - 3;
  const size_t end = in_.find("\r\n\r\n", from);
  if (std::min(end, in_.size()) > limits_.header_bytes) {
    refuse(431,
           "The request's head is larger than " + std::to_string(limits_.header_bytes) + " bytes.");
    return true;
  }
  if (end == std::string::npos) {
    if (!lines_are_whole(in_, scanned_)) {
      refuse(400, "A line of the request's head is malformed or ends without CRLF.");
      return true;
    }
    if (scanned_ == 0) set_deadline(limits_.header_timeout);
    scanned_ = in_.size();
    return false;
  }
  const std::string head = in_.substr(0, end + 4);
  in_.erase(0, end + 4);
  scanned_ = 0;
  accept_head(head);
  return true;
}

void Connection::accept_head(std::string_view head) {
  busy(true);
  request_id_ = group_.shared.new_id();
  if (auto checked = check_head(head); !checked.ok()) {
    return refuse(status_of(checked.error()), checked.error().message);
  }
  parser_.emplace();
  parser_->header_limit(static_cast<uint32_t>(head.size()));
  parser_->body_limit(boost::none);  // decided once the route is known
  boost::system::error_code error;
  parser_->put(boost::asio::buffer(head.data(), head.size()), error);
  const bool complete = parser_->is_header_done();
  if (!complete || (error && error != beast_http::error::need_more)) {
    return refuse(400, "The request's head is malformed.");
  }
  RequestHead native_head = native(parser_->get().base());
  native_head.keep_alive = parser_->keep_alive();
  if (const auto length = parser_->content_length()) native_head.content_length = *length;
  native_head.has_body = parser_->chunked() || native_head.content_length.value_or(0) > 0;
  http10_ = native_head.http10;
  head_only_ = native_head.method == "HEAD";
  close_after_ = !native_head.keep_alive;

  Verdict verdict = group_.shared.judge(native_head);
  auto turn = std::make_shared<Turn>(shared_from_this(), group_, turn_);
  turn->head = std::move(native_head);
  turn->started = group_.io.clock().monotonic();
  turn->request_id = request_id_;
  if (verdict.refusal) {
    // What follows a head that was refused is not looked at: only closing tells where it ends.
    close_after_ = close_after_ || turn->head.has_body;
    turn->answered();
    return write_answer(*std::move(verdict.refusal), head_only_);
  }
  handler_ = std::move(verdict.handler);
  incoming_ = std::move(turn);
  if (!incoming_->head.has_body) return hand_over();
  expect_body(verdict.body_limit);
}

void Connection::expect_body(size_t most) {
  const RequestHead& head = incoming_->head;
  if (head.content_length.value_or(0) > most) {
    return refuse(413, "The body is larger than " + std::to_string(most) + " bytes.");
  }
  const std::string* expectation = head.find("Expect");
  if (expectation != nullptr && !same_name(*expectation, "100-continue")) {
    return refuse(417, "The only expectation understood is \"100-continue\".");
  }
  // Reserved before a byte is read: a body of known size is either taken whole or refused.
  if (!incoming_->hold(head.content_length.value_or(0))) {
    return refuse(503, "The server holds too many request bodies; try again.");
  }
  body_limit_ = most;
  parser_->body_limit(most);
  parser_->eager(true);
  state_ = State::kBody;
  set_deadline(limits_.body_timeout);
  if (expectation != nullptr && in_.empty() && !head.http10) {
    queue("HTTP/1.1 100 Continue\r\n\r\n");
  }
}

void Connection::take_body() {
  boost::system::error_code error;
  // A frame that was begun is shown to the parser again when it can be whole.
  const bool too_short = scanned_ > 0 && in_.size() < kLeastLastChunk;
  while (!too_short && !in_.empty() && !parser_->is_done()) {
    const size_t used = parser_->put(boost::asio::buffer(in_), error);
    in_.erase(0, used);
    if (used > 0) scanned_ = 0;
    if (error == beast_http::error::need_more) break;
    if (error == beast_http::error::body_limit) {
      return refuse(413, "The body is larger than " + std::to_string(body_limit_) + " bytes.");
    }
    if (error) return refuse(400, "The body's framing is malformed.");
  }
  if (!incoming_->hold(parser_->get().body().size())) {
    return refuse(503, "The server holds too many request bodies; try again.");
  }
  if (parser_->is_done()) return hand_over();
  // What is left is the frame of a chunk that has no end yet.
  if (!lines_are_whole(in_, scanned_)) return refuse(400, "The body's framing is malformed.");
  scanned_ = in_.size();
  if (in_.size() > kChunkFrameBytes) refuse(400, "A chunk's frame is too large.");
}

void Connection::hand_over() {
  state_ = State::kAnswer;
  deadline_ = Nanoseconds::max();
  incoming_->body = std::move(parser_->get().body());
  parser_.reset();
  scanned_ = 0;
  current_ = incoming_;
  const Handler handler = std::move(handler_);
  handler_ = nullptr;
  handler(std::move(incoming_));
}

void Connection::refuse(int status, std::string message) {
  busy(true);
  close_after_ = true;
  if (incoming_) incoming_->answered();
  incoming_.reset();
  if (request_id_.empty()) request_id_ = group_.shared.new_id();  // no head was taken
  write_answer(group_.shared.refuse(status, std::move(message)), head_only_);
}

}  // namespace o3::api::http
