// SPDX-License-Identifier: Apache-2.0
#include "api/json_text.h"
#include "api/openai/answer.h"
#include "api/openai/render.h"

namespace o3::api::openai {
namespace {

constexpr size_t kLargeText = 64 << 10;  // bytes; rendering more would delay the thread's streams

struct FinishedChoice {
  bool echoes = false;
  ScoredPrompt prompt;
  std::string text;
  std::vector<ScoredToken> tokens;
  ChoiceEnd end;
};

struct Finished {
  AnswerHeading heading;
  std::vector<FinishedChoice> choices;
  Usage usage;

  // Of what is to be rendered, roughly.
  size_t bytes() const {
    size_t total = 0;
    for (const FinishedChoice& choice : choices) {
      total += choice.text.size();
      for (const ScoredToken& token : choice.tokens) total += 64 * (1 + token.scores.top.size());
      for (const auto& scores : choice.prompt.scores) total += 64 * (1 + scores.top.size());
    }
    return total;
  }
};

std::string render_logprobs(const Finished& answer, const FinishedChoice& choice) {
  if (!answer.heading.logprobs) return "null";
  size_t offset = 0;
  return LogprobsRenderer(answer.heading)
      .render(choice.tokens, choice.echoes ? &choice.prompt : nullptr, offset);
}

void append_chat_choice(std::string& body, const Finished& answer, const FinishedChoice& choice) {
  body += "\"message\":{\"role\":\"assistant\",\"content\":";
  append_json_string(body, choice.text);
  body += ",\"refusal\":null},\"logprobs\":" + render_logprobs(answer, choice);
}

void append_text_choice(std::string& body, const Finished& answer, const FinishedChoice& choice) {
  body += "\"text\":";
  append_json_string(body, choice.text);
  body += ",\"logprobs\":" + render_logprobs(answer, choice);
  if (!answer.heading.prompt_logprobs) return;
  body += ",\"prompt_logprobs\":" + LogprobsRenderer(answer.heading).render_prompt(choice.prompt);
}

http::Response render(const Finished& answer) {
  const bool chat = answer.heading.dialect == Dialect::kChat;
  std::string body = render_heading(answer.heading, chat ? "chat.completion" : "text_completion");
  body += ",\"choices\":[";
  for (size_t i = 0; i < answer.choices.size(); ++i) {
    const FinishedChoice& choice = answer.choices[i];
    body += (i == 0 ? "{\"index\":" : ",{\"index\":") + std::to_string(i) + ",";
    (chat ? append_chat_choice : append_text_choice)(body, answer, choice);
    body += render_end(&choice.end) + "}";
  }
  body.append("],\"usage\":").append(render_usage(answer.usage));
  if (chat && answer.heading.prompt_logprobs) {
    body += ",\"prompt_logprobs\":" +
            LogprobsRenderer(answer.heading).render_prompt(answer.choices.front().prompt);
  }
  http::Response response{
      .status = 200, .content_type = "application/json", .body = body + "}", .fields = {}};
  if (!answer.heading.warning.empty()) {
    response.fields.emplace_back("X-O3-Warning", answer.heading.warning);
  }
  return response;
}

class WholeAnswer final : public Answer {
 public:
  WholeAnswer(std::shared_ptr<http::Exchange> exchange, AnswerHeading heading,
              http::WorkerPool& workers)
      : exchange_(std::move(exchange)),
        workers_(workers),
        answer_(std::make_shared<Finished>(Finished{std::move(heading), {}, {}})) {
    answer_->choices.resize(answer_->heading.choices);
  }

  void begin() override {}
  bool prompt(size_t choice, std::string_view echo, const ScoredPrompt& scored) override {
    FinishedChoice& own = answer_->choices[choice];
    own.echoes = !echo.empty();
    own.text.insert(0, echo);
    own.prompt = scored;
    return true;
  }
  bool piece(size_t choice, const Piece& piece, const Usage& /*so_far*/) override {
    FinishedChoice& own = answer_->choices[choice];
    own.text.append(piece.text);
    own.tokens.insert(own.tokens.end(), piece.tokens.begin(), piece.tokens.end());
    return true;
  }
  bool end_choice(size_t choice, const ChoiceEnd& end, const Usage& /*so_far*/) override {
    answer_->choices[choice].end = end;
    return true;
  }
  bool finish(const Usage& usage) override {
    answer_->usage = usage;
    return true;
  }
  void complete() override {
    auto job = [exchange = exchange_, answer = answer_] { exchange->respond(render(*answer)); };
    if (answer_->bytes() < kLargeText || !workers_.run(job)) job();
  }
  void fail(const ApiError& error) override { exchange_->respond(error_response(error)); }
  void tick(Nanoseconds /*now*/) override {}

 private:
  const std::shared_ptr<http::Exchange> exchange_;
  http::WorkerPool& workers_;
  const std::shared_ptr<Finished> answer_;
};

}  // namespace

std::unique_ptr<Answer> make_whole_answer(std::shared_ptr<http::Exchange> exchange,
                                          AnswerHeading heading, http::WorkerPool& workers) {
  return std::make_unique<WholeAnswer>(std::move(exchange), std::move(heading), workers);
}

}  // namespace o3::api::openai
