// SPDX-License-Identifier: Apache-2.0
#include "api/openai/generate.h"
#include "api/openai/handlers.h"
#include "api/openai/prompt.h"

namespace o3::api::openai {

Result<Resolved<ChatCall>> resolve_chat(Services& services, http::Exchange& exchange) {
  auto request = parse_chat_request(exchange.body, request_limits(services));
  exchange.body = {};
  exchange.release_body();
  if (!request.ok()) return std::move(request).error();
  services.route.metrics.unknown_fields(request->unknown_count);
  auto model = services.models.find(request->model);
  if (!model) return unknown_model(request->model);
  std::string id = model->id;
  return Resolved<ChatCall>{std::move(id), {*std::move(request), std::move(model)}};
}

void run_chat(Services& services, const std::shared_ptr<http::Exchange>& exchange,
              Authorized<govern::Action::kChat> authorized, ChatCall call) {
  auto prompt = build_prompt(*call.model, call.request);
  if (!prompt.ok()) return services.route.refuse(*exchange, prompt.error());
  GenerateCall made{.dialect = Dialect::kChat,
                    .model = std::move(call.model),
                    .options = std::move(call.request),
                    .prompts = {}};
  made.prompts.push_back(*std::move(prompt));
  generate(services, exchange, std::move(authorized).take(), made);
}

}  // namespace o3::api::openai
