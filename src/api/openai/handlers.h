// SPDX-License-Identifier: Apache-2.0
// The OpenAI endpoints. Each runs on a worker thread.
#pragma once

#include <memory>

#include "api/openai/chat_request.h"
#include "api/services.h"

namespace o3::api::openai {

struct ChatCall {
  ChatRequest request;
  std::shared_ptr<const ServedModel> model;
};
Result<Resolved<ChatCall>> resolve_chat(Services& services, http::Exchange& exchange);
void run_chat(Services& services, const std::shared_ptr<http::Exchange>& exchange,
              Authorized<govern::Action::kChat> authorized, ChatCall call);

// GET /v1/models: those that the caller may use.
http::Response list_models(const Services& services,
                           const Authorized<govern::Action::kListModels>& authorized);

using ModelCall = std::shared_ptr<const ServedModel>;
Result<Resolved<ModelCall>> resolve_model(Services& services, const http::Exchange& exchange,
                                          const std::string& row);
http::Response show_model(const ServedModel& model);

}  // namespace o3::api::openai
