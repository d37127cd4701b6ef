// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "govern/principal.h"

namespace o3::govern {

// Everything a request can ask for. Closed: audit and policy name these.
enum class Action : uint8_t {
  kReadHealth,
  kReadPage,
  kReadApi,
  kReadMetrics,
  kListModels,
  kManageModels,
  kTokenize,
  kChat,
  kComplete
};

std::string_view action_name(Action action) noexcept;

// Which credentials a row of the route table takes.
enum class Access : uint8_t { kPublic, kKey, kKeyOrPageToken };

// What the action is done to; an empty model means none in particular.
struct Resource {
  std::string_view model;
};

// The verdict with its evidence: which rule decided, and why in a sentence for the caller.
struct Decision {
  bool allowed = false;
  std::string_view rule = "default-deny";
  std::string reason;
};

// Denies what no rule allows.
Decision decide(const Principal& principal, Access access, Action action, const Resource& resource);

// Whether the principal's list holds the model.
bool may_use_model(const Principal& principal, std::string_view model);

}  // namespace o3::govern
