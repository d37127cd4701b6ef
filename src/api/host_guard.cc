// SPDX-License-Identifier: Apache-2.0
#include "api/host_guard.h"

#include <algorithm>
#include <boost/asio/ip/address_v6.hpp>

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

bool is_host(std::string_view name) {
  const auto word = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  };
  if (name.empty() || name.size() > 255) return false;
  if (!name.starts_with('[')) {
    return std::ranges::all_of(name,
                               [&](char c) { return word(c) || c == '.' || c == '-' || c == '_'; });
  }
  boost::system::error_code error;
  if (!name.ends_with(']')) return false;
  boost::asio::ip::make_address_v6(std::string(name.substr(1, name.size() - 2)), error);
  return !error;
}

}  // namespace

Result<void> check_allowed_hosts(const std::vector<std::string>& allowed) {
  for (const std::string& name : allowed) {
    if (is_host(name)) continue;
    return invalid("allowed_hosts: \"" + name +
                       "\" is not a host name; give each name as it stands in the address, without "
                       "a port (octo.example, 192.168.0.7, [fe80::1]); there are no wildcards",
                   "allowed_hosts");
  }
  return {};
}

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
