// SPDX-License-Identifier: Apache-2.0
#include "api/json_text.h"
#include "api/openai/handlers.h"

namespace o3::api::openai {
namespace {

void append_model(std::string& out, const ServedModel& model) {
  out += "{\"id\":";
  append_json_string(out, model.id);
  out += ",\"object\":\"model\",\"created\":" + std::to_string(model.created) +
         ",\"owned_by\":\"o3\",\"context_length\":" + std::to_string(model.context) + "}";
}

http::Response json(std::string body) {
  return {.status = 200, .content_type = "application/json", .body = std::move(body), .fields = {}};
}

}  // namespace

http::Response list_models(const Services& services,
                           const Authorized<govern::Action::kListModels>& authorized) {
  std::string body = "{\"object\":\"list\",\"data\":[";
  bool first = true;
  for (const auto& model : services.models) {
    if (!govern::may_use_model(authorized->principal, model->id)) continue;
    if (!std::exchange(first, false)) body += ',';
    append_model(body, *model);
  }
  return json(body + "]}");
}

Result<Resolved<ModelCall>> resolve_model(Services& services, const http::Exchange& exchange,
                                          const std::string& row) {
  const std::string id = path_id(row, exchange.head.path);
  auto model = find_model(services.models, id);
  if (!model) return unknown_model(id);
  return Resolved<ModelCall>{id, std::move(model)};
}

http::Response show_model(const ServedModel& model) {
  std::string body;
  append_model(body, model);
  return json(std::move(body));
}

}  // namespace o3::api::openai
