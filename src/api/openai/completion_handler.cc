// SPDX-License-Identifier: Apache-2.0
#include "api/openai/generate.h"
#include "api/openai/handlers.h"
#include "api/openai/prompt.h"

namespace o3::api::openai {

Result<Resolved<CompletionCall>> resolve_completion(Services& services, http::Exchange& exchange) {
  auto request = parse_completion_request(exchange.body, request_limits(services));
  exchange.body = {};
  exchange.release_body();
  if (!request.ok()) return std::move(request).error();
  services.route.metrics.unknown_fields(request->unknown_count);
  auto model = services.models.find(request->model);
  if (!model) return unknown_model(request->model);
  std::string id = model->id;
  return Resolved<CompletionCall>{std::move(id), {*std::move(request), std::move(model)}};
}

void run_completion(Services& services, const std::shared_ptr<http::Exchange>& exchange,
                    Authorized<govern::Action::kComplete> authorized, const CompletionCall& call) {
  GenerateCall made{.dialect = Dialect::kCompletions,
                    .model = call.model,
                    .options = call.request,
                    .prompts = {}};
  for (const PromptText& text : call.request.prompts) {
    auto prompt = build_prompt(*call.model, call.request, text);
    if (!prompt.ok()) return services.route.refuse(*exchange, prompt.error());
    made.prompts.push_back(*std::move(prompt));
  }
  generate(services, exchange, std::move(authorized).take(), made);
}

}  // namespace o3::api::openai
