// SPDX-License-Identifier: Apache-2.0
#include "govern/policy.h"

#include <algorithm>

namespace o3::govern {
namespace {

Decision allow(std::string_view rule) {
  return {true, rule, {}};
}
Decision deny(std::string_view rule, std::string reason) {
  return {false, rule, std::move(reason)};
}

}  // namespace

std::string_view action_name(Action action) noexcept {
  switch (action) {
    case Action::kReadHealth:
      return "read_health";
    case Action::kReadPage:
      return "read_page";
    case Action::kReadApi:
      return "read_api";
    case Action::kReadMetrics:
      return "read_metrics";
    case Action::kListModels:
      return "list_models";
    case Action::kManageModels:
      return "manage_models";
    case Action::kTokenize:
      return "tokenize";
    case Action::kChat:
      return "invoke";
    case Action::kComplete:
      return "complete";
  }
  return "unknown";
}

bool may_use_model(const Principal& principal, std::string_view model) {
  return std::ranges::any_of(principal.models, [&](const std::string& allowed) {
    return allowed == "*" || allowed == model;
  });
}

Decision decide(const Principal& principal, Access access, Action action,
                const Resource& resource) {
  if (access == Access::kPublic) return allow("public-route");
  if (principal.kind == PrincipalKind::kAnonymous) {
    return deny("no-credential", "This route needs an API key.");
  }
  if (principal.kind == PrincipalKind::kPageToken && access != Access::kKeyOrPageToken) {
    return deny("page-token",
                "The chat page's token is good for chat and for listing models; "
                "use an API key.");
  }
  if (!resource.model.empty() && !may_use_model(principal, resource.model)) {
    return deny("model-list", "This key may not use that model.");
  }
  switch (action) {
    case Action::kReadMetrics:
    case Action::kListModels:
      return allow("key-route");
    case Action::kManageModels:
      // Others lose a model that one unloads: only who may use all may do that.
      if (may_use_model(principal, "*")) return allow("key-manager");
      return deny("key-manager", "Only a key for all models may load and unload them.");
    case Action::kTokenize:
    case Action::kChat:
    case Action::kComplete:
      if (resource.model.empty()) break;  // none of these is about no model in particular
      return allow("key-model");
    case Action::kReadHealth:
    case Action::kReadPage:
    case Action::kReadApi:
      break;  // public rows only
  }
  return deny("default-deny", "No rule allows " + std::string(action_name(action)) + " here.");
}

}  // namespace o3::govern
