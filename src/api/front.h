// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "api/host_guard.h"
#include "api/http/exchange.h"
#include "api/services.h"

namespace o3::api {

// Judges a request by its head: Host, route, credentials, kind of body; only then is a body read.
// Any io thread.
class Front {
 public:
  Front(const RouteTable& table, const HostGuard& hosts, Services& services)
      : table_(table), hosts_(hosts), services_(services) {}

  http::Verdict judge(const http::RequestHead& head) const;
  http::Response refuse(int status, std::string message) const;  // counted
  static std::string new_request_id();

 private:
  std::optional<http::Response> check(const http::RequestHead& head, const Route*& route) const;

  const RouteTable& table_;
  const HostGuard& hosts_;
  Services& services_;
};

}  // namespace o3::api
