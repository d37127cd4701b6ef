// SPDX-License-Identifier: Apache-2.0
// From parsed options and prompts to a running Generation; the same for chat and completions.
#pragma once

#include <memory>
#include <vector>

#include "api/gate.h"
#include "api/openai/answer.h"
#include "api/openai/generation_options.h"
#include "api/openai/prompt.h"
#include "api/services.h"

namespace o3::api::openai {

struct GenerateCall {
  Dialect dialect = Dialect::kChat;
  std::shared_ptr<const ServedModel> model;
  GenerationOptions options;
  std::vector<Prompt> prompts;  // each has n choices, in order
};

// Answers the exchange, now or when the engine is done. On a worker thread.
void generate(Services& services, const std::shared_ptr<http::Exchange>& exchange, Permit permit,
              const GenerateCall& call);

}  // namespace o3::api::openai
