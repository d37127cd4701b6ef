// SPDX-License-Identifier: Apache-2.0
#include "api/openai/generate.h"

#include <algorithm>
#include <random>

#include "api/openai/generation.h"

namespace o3::api::openai {
namespace {

uint64_t random_seed() {
  std::random_device device;
  return uint64_t{device()} << 32 | device();
}

std::string warning_of(const GenerationOptions& options) {
  if (options.unknown_count == 0) return {};
  std::string text = "unknown fields were ignored: ";
  for (size_t i = 0; i < options.unknown.size(); ++i) {
    text += (i == 0 ? "" : ", ") + options.unknown[i];
  }
  const size_t more = options.unknown_count - options.unknown.size();
  return more == 0 ? text : text + " and " + std::to_string(more) + " more";
}

size_t candidates(const GenerateCall& call) {
  return static_cast<size_t>(std::max(call.options.n, call.options.best_of));
}

AnswerHeading heading_of(const Services& services, const http::Exchange& exchange,
                         const GenerateCall& call) {
  const auto created = std::chrono::duration_cast<std::chrono::seconds>(services.clock.wall());
  const size_t prefix = exchange.request_id.find('_') + 1;
  const bool chat = call.dialect == Dialect::kChat;
  return {.dialect = call.dialect,
          .id = (chat ? "chatcmpl-" : "cmpl-") + exchange.request_id.substr(prefix),
          .created = created.count(),
          .model = call.model->id,
          .fingerprint = services.system_fingerprint,
          .warning = warning_of(call.options),
          .choices = call.prompts.size() * static_cast<size_t>(call.options.n),
          .include_usage = call.options.include_usage,
          .continuous_usage = call.options.continuous_usage,
          .logprobs = call.options.logprobs.has_value(),
          .prompt_logprobs = call.options.prompt_logprobs.has_value(),
          .tokenizer = call.model->tokenizer};
}

// A word is a bad one at the start of a text and behind a space.
Result<std::vector<std::vector<Token>>> bad_word_tokens(const text::Tokenizer& tokenizer,
                                                        const std::vector<std::string>& words) {
  std::vector<std::vector<Token>> sequences;
  for (const std::string& word : words) {
    for (const std::string& form : {word, " " + word}) {
      O3_ASSIGN(auto tokens, tokenizer.encode(form, text::SpecialTokens::kPlain));
      const bool known = std::ranges::find(sequences, tokens) != sequences.end();
      if (!tokens.empty() && !known) sequences.push_back(std::move(tokens));
    }
  }
  return sequences;
}

// What all choices share.
engine::Generate work_of(const GenerateCall& call, std::vector<std::vector<Token>> bad_words) {
  const GenerationOptions& options = call.options;
  engine::Generate work;
  work.sampling = options.sampling;
  work.sampling.seed = options.seed ? *options.seed : random_seed();
  work.sampling.bad_words = std::move(bad_words);
  work.stop_tokens = options.stop_token_ids;
  if (!options.ignore_eos) {
    work.stop_tokens.insert(work.stop_tokens.end(), call.model->stop_tokens.begin(),
                            call.model->stop_tokens.end());
  }
  if (options.format == AnswerFormat::kJsonObject) work.constraint = call.model->json_object;
  work.logprobs = options.logprobs;
  if (options.best_of > options.n) work.logprobs = options.logprobs.value_or(0);
  work.prompt_logprobs = options.prompt_logprobs;
  work.reuse_prefix = options.cache_prompt;
  return work;
}

std::vector<std::shared_ptr<const engine::Request>> engine_requests(Services& services,
                                                                    const Permit& permit,
                                                                    const GenerateCall& call,
                                                                    engine::Generate work) {
  std::vector<std::shared_ptr<const engine::Request>> requests;
  for (const Prompt& prompt : call.prompts) {
    work.prompt = prompt.tokens;
    work.max_new_tokens = prompt.max_new_tokens;
    // The log probabilities of what is echoed are part of a completion's.
    const bool scored_echo = call.dialect == Dialect::kCompletions && !prompt.echo.empty();
    if (scored_echo && !work.prompt_logprobs) work.prompt_logprobs = call.options.logprobs;
    for (uint32_t choice = 0; choice < candidates(call); ++choice) {
      work.sampling.choice = choice;
      auto request = std::make_shared<engine::Request>();
      request->id = RequestId{services.next_request.fetch_add(1)};
      request->instance = call.model->instance;
      if (!services.tenants_share_cache) request->domain.tenant = permit.principal.tenant;
      request->domain.model_revision = call.model->revision;
      request->domain.salt = call.options.cache_salt;
      request->request_class = permit.principal.request_class;
      request->work = work;
      requests.push_back(std::move(request));
    }
  }
  return requests;
}

std::unique_ptr<Answer> answer_of(Services& services,
                                  const std::shared_ptr<http::Exchange>& exchange,
                                  const GenerateCall& call) {
  AnswerHeading heading = heading_of(services, *exchange, call);
  if (call.options.stream) {
    return make_stream_answer(exchange, std::move(heading), services.ping_interval);
  }
  auto answer = make_whole_answer(exchange, std::move(heading), services.workers);
  if (call.options.best_of <= call.options.n) return answer;
  return make_best_of_answer(std::move(answer), candidates(call),
                             static_cast<size_t>(call.options.n));
}

// An answer that is sent as a whole is held until its end: log probabilities are many times larger
// than the text.
Result<void> check_entries(const GenerateCall& call) {
  constexpr int64_t kMostEntries = 1'000'000;
  const GenerationOptions& options = call.options;
  if (options.stream) return {};
  int64_t entries = 0;
  for (const Prompt& prompt : call.prompts) {
    if (options.logprobs) entries += int64_t{prompt.max_new_tokens} * (1 + *options.logprobs);
    if (options.prompt_logprobs) {
      entries += std::ssize(prompt.tokens) * (1 + *options.prompt_logprobs);
    }
  }
  entries *= static_cast<int64_t>(candidates(call));
  if (entries <= kMostEntries) return {};
  return invalid("The log probabilities of " + std::to_string(entries) +
                     " tokens are asked for; one answer holds " + std::to_string(kMostEntries) +
                     ". Lower max_tokens, n or the number of alternatives, or stream.",
                 "logprobs");
}

// Every choice is admitted with its own prompt.
Result<void> reserve(const Permit& permit, const GenerateCall& call) {
  int64_t prompt_tokens = 0;
  int64_t most_new = 0;
  for (const Prompt& prompt : call.prompts) {
    prompt_tokens += std::ssize(prompt.tokens) * static_cast<int64_t>(candidates(call));
    most_new += int64_t{prompt.max_new_tokens} * static_cast<int64_t>(candidates(call));
  }
  return permit.quota->reserve_tokens(prompt_tokens, most_new);
}

}  // namespace

void generate(Services& services, const std::shared_ptr<http::Exchange>& exchange, Permit permit,
              const GenerateCall& call) {
  const GenerationOptions& options = call.options;
  if (options.format == AnswerFormat::kJsonObject && !call.model->json_object) {
    return services.route.refuse(
        *exchange, unsupported("The model " + call.model->id + " cannot be held to JSON here.",
                               "response_format"));
  }
  if (auto checked = check_entries(call); !checked.ok()) {
    return services.route.refuse(*exchange, checked.error());
  }
  auto bad_words = bad_word_tokens(*call.model->tokenizer, options.bad_words);
  if (!bad_words.ok()) return services.route.refuse(*exchange, bad_words.error());
  auto reserved = reserve(permit, call);
  if (!reserved.ok()) return services.route.refuse(*exchange, reserved.error());

  auto requests = engine_requests(services, permit, call, work_of(call, *std::move(bad_words)));
  Generation::Parts parts{.exchange = exchange,
                          .model = call.model,
                          .requests = std::move(requests),
                          .echoes = {},
                          .named_stops = options.stop_token_ids,
                          .candidates = candidates(call),
                          .prompt_only = options.max_tokens == 0,
                          .answer = answer_of(services, exchange, call),
                          .output = {.stops = options.stop,
                                     .include_stop = options.include_stop,
                                     .show_control = !options.skip_special_tokens,
                                     .min_tokens = options.sampling.min_tokens},
                          .permit = std::move(permit)};
  for (const Prompt& prompt : call.prompts) {
    parts.prompt_tokens += static_cast<int32_t>(prompt.tokens.size());
    parts.echoes.insert(parts.echoes.end(), candidates(call), prompt.echo);
  }
  auto generation = std::make_shared<Generation>(services, std::move(parts));
  exchange->post([generation = std::move(generation)] { generation->start(); });
}

}  // namespace o3::api::openai
