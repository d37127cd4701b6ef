// SPDX-License-Identifier: Apache-2.0
// /tokenize, /detokenize and /apply-template, in the request forms of vLLM and of llama-server; the
// answers have the fields of both. On worker threads.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/openai/chat_request.h"
#include "api/services.h"

namespace o3::api {

struct TextCall {
  std::shared_ptr<const ServedModel> model;
  std::string text;
  std::vector<Token> tokens;
  std::optional<openai::ChatRequest> chat;  // instead of the text
  bool add_bos = false;
  bool parse_special = true;   // texts of control tokens become those tokens
  bool token_strings = false;  // vLLM: a list of them
  bool pieces = false;         // llama-server: objects of id and text
};

// Without a model in the body: the first that the principal may use.
Result<Resolved<TextCall>> resolve_tokenize(Services& services, http::Exchange& exchange,
                                            const govern::Principal& principal);
Result<Resolved<TextCall>> resolve_detokenize(Services& services, http::Exchange& exchange,
                                              const govern::Principal& principal);
Result<Resolved<TextCall>> resolve_template(Services& services, http::Exchange& exchange,
                                            const govern::Principal& principal);

Result<http::Response> tokenize(const TextCall& call);
http::Response detokenize(const TextCall& call);
Result<http::Response> apply_template(const TextCall& call);

}  // namespace o3::api
