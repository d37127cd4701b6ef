// SPDX-License-Identifier: Apache-2.0
// The HTTP side of `o3 serve` as the program sees it.
#pragma once

#include <prometheus/registry.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "api/http/http_server.h"
#include "api/model_manager.h"
#include "api/model_table.h"
#include "api/page/assets.h"
#include "base/clock.h"
#include "base/result.h"
#include "config/snapshot.h"
#include "engine/engine_client.h"
#include "govern/audit.h"
#include "govern/key_store.h"
#include "govern/page_token.h"
#include "govern/quota.h"

namespace o3::api {

struct ServerOptions {
  http::HttpOptions http;
  size_t worker_threads = 2;
  std::vector<std::string> allowed_hosts;  // beside loopback's names, while bound to loopback
  bool no_auth = false;                    // refused unless bound to loopback
  bool strict_params = false;
  bool tenants_share_cache = false;  // equal beginnings of prompts, in the KV cache
  std::string system_fingerprint;
  std::chrono::milliseconds ping_interval{15'000};

  // From the table of config/serve_settings.h.
  static ServerOptions from(const config::Snapshot& settings);
};

// What the server works with; all of it must outlive the server.
struct ServerParts {
  const Clock& clock;
  engine::EngineClient& engine;
  const ModelTable& models;
  prometheus::Registry& registry;
  const govern::KeySource& keys;
  const govern::PageToken& page_token;
  govern::Quota& quota;
  govern::AuditLog& audit;
  ModelManager* manager = nullptr;  // null: no routes that load and unload models
  std::span<const Asset> assets = page_assets();
};

class Server {
 public:
  // Listens and answers from now on; not ready until set_ready(true). kInvalid: no_auth on an
  // address that is not loopback, an allowed host that is no name. kUnavailable: the address is
  // taken, too few descriptors.
  static Result<std::unique_ptr<Server>> create(const ServerOptions& options,
                                                const ServerParts& parts);
  ~Server();  // closes every connection; requests that run are cancelled

  uint16_t port() const noexcept;
  void set_ready(bool ready);

  // Refuses new work, lets running requests finish for `timeout`, cancels the rest and waits (at
  // most a second) for their answers to be sent. Any thread but the server's own; then destroy.
  void drain(std::chrono::milliseconds timeout);

 private:
  struct State;
  explicit Server(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace o3::api
