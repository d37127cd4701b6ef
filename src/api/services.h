// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "api/delta_router.h"
#include "api/http/worker_pool.h"
#include "api/model_manager.h"
#include "api/model_table.h"
#include "api/request_metrics.h"
#include "api/route_table.h"
#include "engine/engine_client.h"

namespace o3::api {

// What handlers work with. Owned by the Server, outlives every handler; any thread.
struct Services {
  const Clock& clock;
  engine::EngineClient& engine;
  const ModelTable& models;
  ModelManager* manager = nullptr;  // null: models stay as they are
  RouteParts route;
  http::WorkerPool& workers;
  std::vector<std::shared_ptr<DeltaRouter>> routers;  // by Exchange::io_index()

  size_t body_limit = 4 << 20;  // of a request with a body
  bool strict_params = false;
  bool tenants_share_cache = false;
  std::string system_fingerprint;  // empty: answers do not name one
  std::chrono::milliseconds ping_interval{15'000};

  std::atomic<uint64_t> next_request{1};
  std::atomic<bool> ready{false};     // models are loaded
  std::atomic<bool> draining{false};  // no new requests
};

}  // namespace o3::api
