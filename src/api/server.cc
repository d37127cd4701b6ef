// SPDX-License-Identifier: Apache-2.0
#include "api/server.h"

#include <algorithm>
#include <set>
#include <thread>

#include "api/front.h"
#include "api/host_guard.h"
#include "api/routes.h"
#include "base/log.h"
#include "config/serve_settings.h"

namespace o3::api {
namespace {

namespace rows = config::serve;

constexpr std::chrono::milliseconds kPoll{5};
constexpr std::chrono::milliseconds kFlushTime{1000};  // for answers of cancelled requests

}  // namespace

ServerOptions ServerOptions::from(const config::Snapshot& settings) {
  const auto size = [&](const config::Setting& row) {
    return static_cast<size_t>(settings.integer(row));
  };
  return {
      .http = {.host = settings.text(rows::kHost),
               .port = static_cast<uint16_t>(settings.integer(rows::kPort)),
               .io_threads = size(rows::kIoThreads),
               .limits = {.max_connections = size(rows::kMaxConnections),
                          .header_bytes = size(rows::kHeaderBytes),
                          .body_bytes = size(rows::kBodyBytes),
                          .body_bytes_total = size(rows::kBodyBytesTotal),
                          .stream_buffer_bytes = size(rows::kStreamBufferBytes),
                          .header_timeout = settings.millis(rows::kHeaderTimeout),
                          .body_timeout = settings.millis(rows::kBodyTimeout),
                          .write_timeout = settings.millis(rows::kWriteTimeout),
                          .idle_timeout = settings.millis(rows::kIdleTimeout)},
               .tls = {.certificate = settings.text(rows::kTlsCert),
                       .key = settings.text(rows::kTlsKey)}},
      .worker_threads = size(rows::kWorkerThreads),
      .allowed_hosts = settings.list(rows::kAllowedHosts),
      .no_auth = settings.flag(rows::kNoAuth),
      .strict_params = settings.flag(rows::kStrictParams),
      .tenants_share_cache = settings.text(rows::kPrefixCache) == "all",
      .system_fingerprint = settings.text(rows::kSystemFingerprint),
      .ping_interval = settings.millis(rows::kPingInterval),
  };
}

// Members in the order of their lives: what comes later uses what comes before.
struct Server::State {
  State(const ServerOptions& options, const ServerParts& parts,
        std::unique_ptr<http::HttpServer> http_server)
      : clock(parts.clock),
        metrics(parts.registry),
        gate({.keys = options.no_auth ? nullptr : &parts.keys,
              .page_token = &parts.page_token,
              .quota = parts.quota,
              .audit = parts.audit}),
        http(std::move(http_server)),
        workers(options.worker_threads, options.http.limits.worker_queue),
        services{.clock = parts.clock,
                 .engine = parts.engine,
                 .models = parts.models,
                 .manager = parts.manager,
                 .route = {gate, metrics},
                 .workers = workers,
                 .routers = {},
                 .body_limit = options.http.limits.body_bytes,
                 .strict_params = options.strict_params,
                 .tenants_share_cache = options.tenants_share_cache,
                 .system_fingerprint = options.system_fingerprint,
                 .ping_interval = options.ping_interval},
        hosts(http->loopback(), options.allowed_hosts),
        table(make_routes(services, parts.registry, parts.assets)),
        front(table, hosts, services) {
    for (size_t i = 0; i < http->io_count(); ++i) {
      auto router = std::make_shared<DeltaRouter>(http->io(i));
      http->io(i).on_tick([router = router.get()](Nanoseconds now) { router->tick(now); });
      services.routers.push_back(std::move(router));
    }
  }

  bool settled() const { return http->busy() == 0; }
  void wait_until_settled(Nanoseconds deadline) const {
    while (!settled() && clock.monotonic() < deadline) std::this_thread::sleep_for(kPoll);
  }
  void wait_until_recorded() const {
    while (!gate.settled()) std::this_thread::sleep_for(kPoll);
  }
  void cancel_running() {
    for (size_t i = 0; i < http->io_count(); ++i) {
      http->io(i).post([router = services.routers[i]] { router->shut_down(); });
    }
  }

  const Clock& clock;
  RequestMetrics metrics;
  const Gate gate;
  const std::unique_ptr<http::HttpServer> http;
  http::WorkerPool workers;
  Services services;
  const HostGuard hosts;
  const RouteTable table;
  const Front front;
};

Server::Server(std::unique_ptr<State> state) : state_(std::move(state)) {}

Result<std::unique_ptr<Server>> Server::create(const ServerOptions& options,
                                               const ServerParts& parts) {
  O3_TRY(check_allowed_hosts(options.allowed_hosts));
  O3_ASSIGN(auto http_server, http::HttpServer::create(options.http, parts.clock));
  if (options.no_auth && !http_server->loopback()) {
    return invalid("--no-auth needs a loopback address (127.0.0.1, ::1), not " + options.http.host +
                       ": without keys everyone who reaches it could use the server",
                   "no_auth");
  }
  auto state = std::make_unique<State>(options, parts, std::move(http_server));
  if (options.no_auth)
    log::warn("no API key is asked for (--no-auth): every local user may use this server");
  const Front& front = state->front;
  state->http->start(
      [&front](const http::RequestHead& head) { return front.judge(head); },
      [&front](int status, std::string text) { return front.refuse(status, std::move(text)); },
      &Front::new_request_id);
  return std::unique_ptr<Server>(new Server(std::move(state)));
}

// Connections close first, which cancels what runs; then no one is left to use the workers.
Server::~Server() {
  state_->services.draining = true;
  state_->http->begin_drain();
  state_->http->close_port();
  state_->workers.stop();
  state_->http->stop();
  for (const auto& router : state_->services.routers) router->close();
  state_->wait_until_recorded();
}

uint16_t Server::port() const noexcept {
  return state_->http->port();
}
void Server::set_ready(bool ready) {
  state_->services.ready = ready;
}

void Server::drain(std::chrono::milliseconds timeout) {
  state_->services.ready = false;
  state_->services.draining = true;
  state_->http->begin_drain();
  state_->wait_until_settled(state_->clock.monotonic() + timeout);
  if (!state_->settled()) {
    log::warn("{} requests did not finish in time and are cancelled", state_->http->busy());
    state_->cancel_running();
    state_->wait_until_settled(state_->clock.monotonic() + kFlushTime);
  }
  state_->http->close_port();
}

}  // namespace o3::api
