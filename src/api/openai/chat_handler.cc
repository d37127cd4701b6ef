// SPDX-License-Identifier: Apache-2.0
#include <random>

#include "api/openai/answer.h"
#include "api/openai/chat_prompt.h"
#include "api/openai/generation.h"
#include "api/openai/handlers.h"

namespace o3::api::openai {
namespace {

uint64_t random_seed() {
  std::random_device device;
  return uint64_t{device()} << 32 | device();
}

std::string warning_of(const ChatRequest& request) {
  if (request.unknown_count == 0) return {};
  std::string text = "unknown fields were ignored: ";
  for (size_t i = 0; i < request.unknown.size(); ++i) {
    text += (i == 0 ? "" : ", ") + request.unknown[i];
  }
  const size_t more = request.unknown_count - request.unknown.size();
  return more == 0 ? text : text + " and " + std::to_string(more) + " more";
}

AnswerHeading heading_of(const Services& services, const http::Exchange& exchange,
                         const ChatCall& call) {
  const auto created = std::chrono::duration_cast<std::chrono::seconds>(services.clock.wall());
  const size_t prefix = exchange.request_id.find('_') + 1;
  return {.id = "chatcmpl-" + exchange.request_id.substr(prefix),
          .created = created.count(),
          .model = call.model->id,
          .fingerprint = services.system_fingerprint,
          .warning = warning_of(call.request),
          .include_usage = call.request.include_usage};
}

engine::Request engine_request(Services& services, const Permit& permit, const ChatCall& call,
                               ChatPrompt prompt) {
  engine::Generate work{
      .prompt = std::move(prompt.tokens),
      .sampling = {.temperature = call.request.temperature,
                   .top_k = call.request.top_k,
                   .top_p = call.request.top_p,
                   .seed = call.request.seed ? *call.request.seed : random_seed()},
      .max_new_tokens = prompt.max_new_tokens,
      .stop_tokens = call.request.ignore_eos ? std::vector<Token>{} : call.model->stop_tokens,
      .constraint = {}};
  if (call.request.format == AnswerFormat::kJsonObject) work.constraint = call.model->json_object;
  return {.id = RequestId{services.next_request.fetch_add(1)},
          .instance = call.model->instance,
          .domain = {.tenant = permit.principal.tenant, .model_revision = call.model->revision},
          .request_class = permit.principal.request_class,
          .deadline = std::nullopt,
          .work = std::move(work)};
}

}  // namespace

Result<Resolved<ChatCall>> resolve_chat(Services& services, http::Exchange& exchange) {
  ChatLimits limits;
  limits.json.bytes = services.body_limit;
  limits.strict = services.strict_params;
  auto request = parse_chat_request(exchange.body, limits);
  exchange.body = {};
  exchange.release_body();
  if (!request.ok()) return std::move(request).error();
  services.route.metrics.unknown_fields(request->unknown_count);
  auto model = find_model(services.models, request->model);
  if (!model) return unknown_model(request->model);
  std::string id = model->id;
  return Resolved<ChatCall>{std::move(id), {*std::move(request), std::move(model)}};
}

void run_chat(Services& services, const std::shared_ptr<http::Exchange>& exchange,
              Authorized<govern::Action::kChat> authorized, ChatCall call) {
  if (call.request.format == AnswerFormat::kJsonObject && !call.model->json_object) {
    return services.route.refuse(
        *exchange, unsupported("The model " + call.model->id + " cannot be held to JSON here.",
                               "response_format"));
  }
  auto prompt = build_prompt(*call.model, call.request);
  if (!prompt.ok()) return services.route.refuse(*exchange, prompt.error());
  const auto prompt_tokens = static_cast<int32_t>(prompt->tokens.size());
  Permit permit = std::move(authorized).take();
  auto reserved = permit.quota->reserve_tokens(prompt_tokens, prompt->max_new_tokens);
  if (!reserved.ok()) return services.route.refuse(*exchange, reserved.error());

  auto request = std::make_shared<const engine::Request>(
      engine_request(services, permit, call, *std::move(prompt)));
  AnswerHeading heading = heading_of(services, *exchange, call);
  auto answer = call.request.stream
                    ? make_stream_answer(exchange, std::move(heading), services.ping_interval)
                    : make_whole_answer(exchange, std::move(heading), services.workers);
  auto generation = std::make_shared<Generation>(
      services, Generation::Parts{.exchange = exchange,
                                  .model = std::move(call.model),
                                  .request = std::move(request),
                                  .prompt_tokens = prompt_tokens,
                                  .answer = std::move(answer),
                                  .stops = std::move(call.request.stop),
                                  .permit = std::move(permit)});
  exchange->post([generation = std::move(generation)] { generation->start(); });
}

}  // namespace o3::api::openai
