// SPDX-License-Identifier: Apache-2.0
// The endpoints that are not a model API: health, metrics, the chat page.
#pragma once

#include <prometheus/registry.h>

#include "api/page/assets.h"
#include "api/services.h"

namespace o3::api {

// Alive: the process answers. 200 always.
http::Response livez();
// Ready: models are loaded, the engine takes work, and the server is not draining; else 503.
http::Response readyz(const Services& services);
// The same for those who know /health: 200 {"status":"ok"}, or 503 with an error object.
http::Response health(const Services& services);
// Prometheus text exposition format 0.0.4.
http::Response metrics_text(const prometheus::Registry& registry);
// 304 when the client has these bytes. With the security fields of docs/http.md.
http::Response page_asset(const Asset& asset, const http::RequestHead& head);

}  // namespace o3::api
