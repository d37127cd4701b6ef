// SPDX-License-Identifier: Apache-2.0
#include "api/http/http_server.h"

#include <netinet/tcp.h>

#include <algorithm>
#include <array>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>
#include <future>
#include <vector>

#include "api/http/connection.h"
#include "api/http/descriptors.h"
#include "api/http/tls_context.h"
#include "base/log.h"

namespace o3::api::http {
namespace {

using boost::asio::ip::tcp;
using Acceptor = boost::asio::basic_socket_acceptor<tcp, boost::asio::io_context::executor_type>;

// When descriptors have run out:
constexpr std::chrono::milliseconds kAcceptPause{100};
constexpr std::chrono::seconds kWarningPause{10};
constexpr size_t kMostTurnedAway = 256;  // in one go; the io thread has connections to serve

Result<tcp::endpoint> endpoint_of(const HttpOptions& options) {
  boost::system::error_code error;
  const std::string host = options.host == "localhost" ? "127.0.0.1" : options.host;
  const auto address = boost::asio::ip::make_address(host, error);
  if (error) {
    return invalid("\"" + options.host + "\" is not an IP address; use 127.0.0.1, 0.0.0.0, ::1, ::",
                   "host");
  }
  return tcp::endpoint(address, options.port);
}

// Bytes that the kernel takes from us before it can send them. Without a bound it is megabytes, and
// a reader that never reads would seem to keep up for that long.
using UnsentInKernel = boost::asio::detail::socket_option::integer<IPPROTO_TCP, TCP_NOTSENT_LOWAT>;
constexpr size_t kUnsentInKernel = 64 << 10;
int unsent_in_kernel(const Limits& limits) {
  return static_cast<int>(std::min(limits.stream_buffer_bytes, kUnsentInKernel));
}

}  // namespace

struct HttpServer::State {
  State(const HttpOptions& options, const Clock& clock)
      : shared{.limits = options.limits,
               .judge = {},
               .refuse = {},
               .new_id = {},
               .budget = BodyBudget(options.limits.body_bytes_total)} {
    for (size_t i = 0; i < options.io_threads; ++i) {
      threads.push_back(std::make_unique<IoThread>(i, clock));
      groups.push_back(std::make_unique<Group>(*threads.back(), shared));
    }
    acceptor.emplace(threads.front()->context());
    pause.emplace(threads.front()->context());
  }

  Result<void> bind(const HttpOptions& options);
  void accept();
  void on_accept(Group& group, boost::system::error_code error, Socket socket);
  void on_accept_failed(boost::system::error_code error);
  void turn_away(Socket& socket);
  void turn_away_waiting();
  void on_all(void (Group::*work)());  // waits until every io thread has done it

  Shared shared;
  std::vector<std::unique_ptr<Group>> groups;  // one per thread; before them, because callbacks
                                               // that never ran still refer to their group
  std::vector<std::unique_ptr<IoThread>> threads;
  std::optional<Acceptor> acceptor;
  std::optional<boost::asio::steady_timer> pause;
  SpareDescriptor spare;
  Nanoseconds next_warning{};
  int64_t refused_clients = 0;  // since the last warning
  size_t next = 0;
  uint16_t port = 0;
  bool loopback = false;
  bool started = false;
};

Result<void> HttpServer::State::bind(const HttpOptions& options) {
  O3_ASSIGN(const tcp::endpoint endpoint, endpoint_of(options));
  boost::system::error_code error;
  acceptor->open(endpoint.protocol(), error);
  if (!error) acceptor->set_option(tcp::acceptor::reuse_address(true), error);
  if (!error) acceptor->bind(endpoint, error);
  if (!error) acceptor->non_blocking(true, error);
  if (!error) acceptor->listen(boost::asio::socket_base::max_listen_connections, error);
  if (error) {
    const std::string place = options.host + ":" + std::to_string(options.port);
    return unavailable("cannot listen on " + place + ": " + error.message() +
                       "; choose another --host or --port");
  }
  port = acceptor->local_endpoint(error).port();
  loopback = endpoint.address().is_loopback();
  return {};
}

void HttpServer::State::accept() {
  Group& group = *groups[next++ % groups.size()];
  acceptor->async_accept(group.io.context(),
                         [this, &group](boost::system::error_code error, Socket socket) {
                           on_accept(group, error, std::move(socket));
                         });
}

void HttpServer::State::on_accept(Group& group, boost::system::error_code error, Socket socket) {
  if (!acceptor->is_open()) return;
  if (error) return on_accept_failed(error);
  accept();  // first, so that nothing this connection does can stop the next
  socket.set_option(tcp::no_delay(true), error);
  socket.set_option(UnsentInKernel(unsent_in_kernel(shared.limits)), error);
  if (shared.connections.load() >= static_cast<int64_t>(shared.limits.max_connections)) {
    turn_away(socket);
  } else {
    auto accepted =
        std::make_shared<Accepted>(Accepted{ConnectionSlot(shared.connections), std::move(socket)});
    group.io.post([&group, accepted] { group.adopt(std::move(*accepted)); });
  }
}

// Out of descriptors or memory: accepting again at once would only spin.
void HttpServer::State::on_accept_failed(boost::system::error_code error) {
  pause->expires_after(kAcceptPause);
  pause->async_wait([this](boost::system::error_code stopped) {
    if (!stopped && acceptor->is_open()) accept();
  });
  const bool exhausted = error.value() == EMFILE || error.value() == ENFILE;
  if (exhausted) turn_away_waiting();
  const Nanoseconds now = threads.front()->clock().monotonic();
  if (now < next_warning) return;
  next_warning = now + kWarningPause;
  log::warn("cannot take connections: {}; {} were refused since the last line like this",
            exhausted ? "too many open files (ulimit -n)" : error.message(),
            std::exchange(refused_clients, 0));
}

// Sends what fits into the socket's buffer at once: a refused client is not waited for. Closing
// with unread bytes would reset the connection before the client has the answer.
void HttpServer::State::turn_away(Socket& socket) {
  if (shared.tls) return;  // a handshake would be waited for
  http::Response full = shared.refuse(503, "The server has too many connections; try again.");
  full.fields.emplace_back(kRequestIdField, shared.new_id());
  const std::string text =
      render_head(full, Framing::kLength, false, groups.front()->date_now()) + full.body;
  boost::system::error_code error;
  socket.non_blocking(true, error);
  socket.write_some(boost::asio::buffer(text), error);
  socket.shutdown(Socket::shutdown_send, error);
  std::array<char, 16384> unread{};
  socket.read_some(boost::asio::buffer(unread), error);
}

// While no descriptor is left, the spare one serves all who wait, one after the other.
void HttpServer::State::turn_away_waiting() {
  spare.give_up();
  boost::system::error_code error;
  for (size_t i = 0; i < kMostTurnedAway; ++i) {
    Socket socket(threads.front()->context());
    acceptor->accept(socket, error);
    if (error) break;
    turn_away(socket);
    ++refused_clients;
  }
  spare.take();
}

void HttpServer::State::on_all(void (Group::*work)()) {
  std::vector<std::future<void>> done;
  done.reserve(groups.size());
  for (const auto& group : groups) {
    auto promise = std::make_shared<std::promise<void>>();
    done.push_back(promise->get_future());
    group->io.post([group = group.get(), work, promise] {
      (group->*work)();
      promise->set_value();
    });
  }
  for (auto& one : done) one.wait();
}

HttpServer::HttpServer(std::unique_ptr<State> state) : state_(std::move(state)) {}
HttpServer::~HttpServer() {
  stop();
}

Result<std::unique_ptr<HttpServer>> HttpServer::create(const HttpOptions& options,
                                                       const Clock& clock) {
  O3_CHECK(options.io_threads > 0, "no io threads");
  HttpOptions fitting = options;
  O3_ASSIGN(fitting.limits.max_connections,
            make_room_for_connections(options.limits.max_connections, options.io_threads));
  O3_ASSIGN(auto tls, make_tls_context(options.tls));
  auto state = std::make_unique<State>(fitting, clock);
  state->shared.tls = std::move(tls);
  O3_TRY(state->bind(options));
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(state)));
}

void HttpServer::start(Judge judge, Refuse refuse, NewRequestId new_id) {
  O3_CHECK(!state_->started, "started twice");
  state_->shared.judge = std::move(judge);
  state_->shared.refuse = std::move(refuse);
  state_->shared.new_id = std::move(new_id);
  state_->started = true;
  for (const auto& group : state_->groups) {
    group->io.on_tick([group = group.get()](Nanoseconds now) { group->tick(now); });
    group->io.start();
  }
  state_->threads.front()->post([state = state_.get()] { state->accept(); });
}

uint16_t HttpServer::port() const noexcept {
  return state_->port;
}
bool HttpServer::loopback() const noexcept {
  return state_->loopback;
}
size_t HttpServer::io_count() const noexcept {
  return state_->threads.size();
}
IoThread& HttpServer::io(size_t index) noexcept {
  return *state_->threads[index];
}
int64_t HttpServer::connections() const noexcept {
  return state_->shared.connections.load();
}
int64_t HttpServer::busy() const noexcept {
  return state_->shared.turns.load();
}

void HttpServer::begin_drain() {
  if (!state_->started || state_->shared.draining.exchange(true)) return;
  state_->on_all(&Group::close_idle);
}

void HttpServer::close_port() {
  if (!state_->started || state_->shared.closed.exchange(true)) return;
  std::promise<void> closed;
  state_->threads.front()->post([&] {
    boost::system::error_code ignored;
    state_->acceptor->close(ignored);
    state_->pause->cancel();
    closed.set_value();
  });
  closed.get_future().wait();
}

void HttpServer::stop() {
  if (!state_->started || state_->shared.stopping.load()) return;
  begin_drain();
  close_port();
  state_->on_all(&Group::close_all);
  state_->shared.stopping = true;
  for (const auto& thread : state_->threads) thread->stop();
}

}  // namespace o3::api::http
