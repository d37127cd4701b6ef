// SPDX-License-Identifier: Apache-2.0
// The OpenAI endpoints. Each runs on a worker thread.
#pragma once

#include <memory>

#include "api/openai/chat_request.h"
#include "api/openai/completion_request.h"
#include "api/services.h"

namespace o3::api::openai {

RequestLimits request_limits(const Services& services);

struct ChatCall {
  ChatRequest request;
  std::shared_ptr<const ServedModel> model;
};
Result<Resolved<ChatCall>> resolve_chat(Services& services, http::Exchange& exchange);
void run_chat(Services& services, const std::shared_ptr<http::Exchange>& exchange,
              Authorized<govern::Action::kChat> authorized, ChatCall call);

struct CompletionCall {
  CompletionRequest request;
  std::shared_ptr<const ServedModel> model;
};
Result<Resolved<CompletionCall>> resolve_completion(Services& services, http::Exchange& exchange);
void run_completion(Services& services, const std::shared_ptr<http::Exchange>& exchange,
                    Authorized<govern::Action::kComplete> authorized, const CompletionCall& call);

// GET /v1/models: those that the caller may use, aliases too.
http::Response list_models(const Services& services,
                           const Authorized<govern::Action::kListModels>& authorized);

struct ModelCall {
  std::string id;  // as it was asked for: an alias, perhaps
  std::shared_ptr<const ServedModel> model;
};
Result<Resolved<ModelCall>> resolve_model(Services& services, const http::Exchange& exchange,
                                          const std::string& row);
http::Response show_model(const ModelCall& call);

}  // namespace o3::api::openai
