// SPDX-License-Identifier: Apache-2.0
#include "api/http/http_server.h"

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <future>
#include <vector>

#include "api/http/connection.h"
#include "base/log.h"

namespace o3::api::http {
namespace {

using boost::asio::ip::tcp;
using Acceptor = boost::asio::basic_socket_acceptor<tcp, boost::asio::io_context::executor_type>;

constexpr std::chrono::milliseconds kAcceptPause{100};  // when descriptors have run out

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

// Sends what fits into the socket's buffer at once: a refused client is not waited for.
void turn_away(Socket& socket, const Response& response, std::string_view date) {
  boost::system::error_code ignored;
  const std::string text = render_head(response, Framing::kLength, false, date) + response.body;
  socket.non_blocking(true, ignored);
  socket.write_some(boost::asio::buffer(text), ignored);
  socket.shutdown(Socket::shutdown_send, ignored);
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
  void on_all(void (Group::*work)());  // waits until every io thread has done it

  Shared shared;
  std::vector<std::unique_ptr<Group>> groups;  // one per thread; before them, because callbacks
                                               // that never ran still refer to their group
  std::vector<std::unique_ptr<IoThread>> threads;
  std::optional<Acceptor> acceptor;
  std::optional<boost::asio::steady_timer> pause;
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
  if (error) {
    // Out of descriptors or memory: accepting again at once would only spin.
    pause->expires_after(kAcceptPause);
    pause->async_wait([this](boost::system::error_code stopped) {
      if (!stopped && acceptor->is_open()) accept();
    });
    return log::warn("accept: {}", error.message());
  }
  accept();  // first, so that nothing this connection does can stop the next
  socket.set_option(tcp::no_delay(true), error);
  if (shared.connections.load() >= static_cast<int64_t>(shared.limits.max_connections)) {
    http::Response full = shared.refuse(503, "The server has too many connections; try again.");
    full.fields.emplace_back(kRequestIdField, shared.new_id());
    turn_away(socket, full, groups.front()->date_now());
  } else {
    group.io.post([&group, held = std::make_shared<Socket>(std::move(socket))] {
      group.adopt(std::move(*held));
    });
  }
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
  auto state = std::make_unique<State>(options, clock);
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
