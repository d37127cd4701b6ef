// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace o3::api {

// kInvalid: a name that no Host field has (a wildcard, a port, an address with its scheme,
// nothing).
Result<void> check_allowed_hosts(const std::vector<std::string>& allowed);

// Against DNS rebinding: a web page whose name was made to point at 127.0.0.1 reaches a server on
// loopback from the user's browser, but the Host field still holds the page's name. While bound to
// loopback only these hosts are accepted: localhost, 127.0.0.1, [::1] and the configured names,
// with any port.
class HostGuard {
 public:
  // Off: every Host is accepted (the server is meant to be reached by name).
  HostGuard(bool on, std::vector<std::string> allowed);

  // `host`: the field's value; null (HTTP/1.0 without one) is refused while on.
  bool accepts(const std::string* host) const;

 private:
  const bool on_;
  std::vector<std::string> allowed_;
};

}  // namespace o3::api
