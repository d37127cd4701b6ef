// SPDX-License-Identifier: Apache-2.0
#include "api/json_text.h"
#include "api/openai/handlers.h"

namespace o3::api::openai {
namespace {

// `root` is the model behind an alias, as vLLM has it; of a model's own name, itself.
void append_model(std::string& out, const std::string& id, const ServedModel& model) {
  out += "{\"id\":";
  append_json_string(out, id);
  out += ",\"object\":\"model\",\"created\":" + std::to_string(model.created) +
         ",\"owned_by\":\"o3\",\"root\":";
  append_json_string(out, model.id);
  const std::string context = std::to_string(model.context);
  out += ",\"context_length\":" + context + ",\"max_model_len\":" + context + "}";
}

http::Response json(std::string body) {
  return {.status = 200, .content_type = "application/json", .body = std::move(body), .fields = {}};
}

}  // namespace

RequestLimits request_limits(const Services& services) {
  RequestLimits limits;
  limits.json.bytes = services.body_limit;
  limits.strict = services.strict_params;
  return limits;
}

http::Response list_models(const Services& services,
                           const Authorized<govern::Action::kListModels>& authorized) {
  std::string body = "{\"object\":\"list\",\"data\":[";
  bool first = true;
  for (const auto& model : *services.models.all()) {
    if (!govern::may_use_model(authorized->principal, model->id)) continue;
    std::vector<std::string> names{model->id};
    names.insert(names.end(), model->aliases.begin(), model->aliases.end());
    for (const std::string& name : names) {
      if (!std::exchange(first, false)) body += ',';
      append_model(body, name, *model);
    }
  }
  return json(body + "]}");
}

Result<Resolved<ModelCall>> resolve_model(Services& services, const http::Exchange& exchange,
                                          const std::string& row) {
  const std::string id = path_id(row, exchange.head.path);
  auto model = services.models.find(id);
  if (!model) return unknown_model(id);
  std::string own = model->id;
  return Resolved<ModelCall>{std::move(own), {id, std::move(model)}};
}

http::Response show_model(const ModelCall& call) {
  std::string body;
  append_model(body, call.id, *call.model);
  return json(std::move(body));
}

}  // namespace o3::api::openai
