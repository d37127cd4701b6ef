// SPDX-License-Identifier: Apache-2.0
#include "api/host_guard.h"

#include <algorithm>

#include "api/http/message.h"

namespace o3::api {
namespace {

// "name:port" -> "name"; an IPv6 address keeps its brackets. Empty if the port is malformed.
std::string_view host_name(std::string_view field) {
  const size_t bracket = field.starts_with('[') ? field.find(']') : 0;
  if (bracket == std::string_view::npos) return {};
  const size_t colon = field.find(':', bracket);
  if (colon == std::string_view::npos) return field;
  const std::string_view port = field.substr(colon + 1);
  const bool number =
      port.size() <= 5 && std::ranges::all_of(port, [](char c) { return c >= '0' && c <= '9'; });
  return number ? field.substr(0, colon) : std::string_view{};
}

}  // namespace

HostGuard::HostGuard(bool on, std::vector<std::string> allowed)
    : on_(on), allowed_(std::move(allowed)) {
  allowed_.insert(allowed_.end(), {"localhost", "127.0.0.1", "[::1]"});
}

bool HostGuard::accepts(const std::string* host) const {
  if (!on_) return true;
  if (host == nullptr) return false;
  const std::string_view name = host_name(*host);
  return std::ranges::any_of(allowed_,
                             [&](const std::string& one) { return http::same_name(one, name); });
}

}  // namespace o3::api
