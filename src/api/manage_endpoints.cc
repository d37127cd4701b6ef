// SPDX-License-Identifier: Apache-2.0
#include "api/manage_endpoints.h"

#include "api/json_text.h"
#include "api/openai/field.h"
#include "api/openai/handlers.h"

namespace o3::api {
namespace {

std::string_view status_name(ManagedModel::Status status) noexcept {
  switch (status) {
    case ManagedModel::Status::kUnloaded:
      return "unloaded";
    case ManagedModel::Status::kLoading:
      return "loading";
    case ManagedModel::Status::kLoaded:
      return "loaded";
    case ManagedModel::Status::kUnloading:
      return "unloading";
    case ManagedModel::Status::kFailed:
      return "failed";
  }
  return "unknown";
}

http::Response json(std::string body) {
  return {.status = 200, .content_type = "application/json", .body = std::move(body), .fields = {}};
}

}  // namespace

http::Response list_managed(const Services& services,
                            const Authorized<govern::Action::kListModels>& authorized) {
  std::string body = "{\"object\":\"list\",\"data\":[";
  bool first = true;
  for (const ManagedModel& model : services.manager->list()) {
    if (!govern::may_use_model(authorized->principal, model.id)) continue;
    if (!std::exchange(first, false)) body += ',';
    body += "{\"id\":";
    append_json_string(body, model.id);
    body += ",\"object\":\"model\",\"status\":{\"value\":\"";
    body.append(status_name(model.status)).append("\"");
    if (!model.error.empty()) {
      body += ",\"error\":";
      append_json_string(body, model.error);
    }
    body += "}}";
  }
  return json(body + "]}");
}

Result<Resolved<std::string>> resolve_managed(Services& services, http::Exchange& exchange) {
  const openai::RequestLimits limits = openai::request_limits(services);
  auto root = openai::read_body(exchange.body, limits);
  exchange.body = {};
  exchange.release_body();
  if (!root.ok()) return std::move(root).error();
  const openai::Json* model = openai::member(*root, "model");
  if (model == nullptr) return invalid("model is missing.", "model");
  O3_ASSIGN(const std::string name, openai::read_text(*model, "model"));
  return Resolved<std::string>{name, name};
}

Result<http::Response> load_managed(const Services& services, const std::string& id) {
  O3_TRY(services.manager->load(id));
  return json("{\"success\":true}");
}

Result<http::Response> unload_managed(const Services& services, const std::string& id) {
  O3_TRY(services.manager->unload(id));
  return json("{\"success\":true}");
}

}  // namespace o3::api
