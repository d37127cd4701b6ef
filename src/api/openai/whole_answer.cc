// SPDX-License-Identifier: Apache-2.0
#include "api/json_text.h"
#include "api/openai/answer.h"
#include "api/openai/render.h"

namespace o3::api::openai {
namespace {

constexpr size_t kLargeText = 64 << 10;  // bytes; rendering more would delay the thread's streams

struct Finished {
  AnswerHeading heading;
  std::string text;
  FinishReason reason = FinishReason::kStop;
  Usage usage;
};

http::Response render(const Finished& answer) {
  std::string body = render_heading(answer.heading, "chat.completion");
  body += ",\"choices\":[{\"index\":0,\"message\":{\"role\":\"assistant\",\"content\":";
  append_json_string(body, answer.text);
  body.append(",\"refusal\":null},\"logprobs\":null,\"finish_reason\":\"");
  body.append(reason_name(answer.reason)).append("\"}],\"usage\":");
  body.append(render_usage(answer.usage)).append("}");
  http::Response response{
      .status = 200, .content_type = "application/json", .body = std::move(body), .fields = {}};
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
        answer_(std::make_shared<Finished>(Finished{std::move(heading), {}, {}, {}})) {}

  void begin() override {}
  bool text(std::string_view released) override {
    answer_->text.append(released);
    return true;
  }
  bool finish(FinishReason reason, const Usage& usage) override {
    answer_->reason = reason;
    answer_->usage = usage;
    return true;
  }
  void complete() override {
    auto job = [exchange = exchange_, answer = answer_] { exchange->respond(render(*answer)); };
    if (answer_->text.size() < kLargeText || !workers_.run(job)) job();
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
