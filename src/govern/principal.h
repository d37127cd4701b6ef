// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/ids.h"

namespace o3::govern {

enum class PrincipalKind : uint8_t {
  kAnonymous,  // gave no credential; public rows only
  kApiKey,
  kPageToken,  // the chat page of this process
  kLocal,      // --no-auth: whoever reaches the loopback port
};

// Who asks. Made only from a verified credential; nothing in a request's body changes it.
struct Principal {
  PrincipalKind kind = PrincipalKind::kAnonymous;
  std::string id;      // "svc:KEY_ID" and the like; never the credential
  std::string tenant;  // what caches, quotas and audit separate by
  RequestClass request_class = RequestClass::kNormal;
  std::vector<std::string> models;  // may be used; "*" stands for all
};

}  // namespace o3::govern
