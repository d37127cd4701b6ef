// SPDX-License-Identifier: Apache-2.0
#include "api/json_text.h"
#include "api/openai/answer.h"
#include "api/openai/render.h"
#include "api/sse.h"

namespace o3::api::openai {
namespace {

class StreamAnswer final : public Answer {
 public:
  StreamAnswer(std::shared_ptr<http::Exchange> exchange, AnswerHeading heading,
               std::chrono::milliseconds ping_interval)
      : exchange_(std::move(exchange)),
        heading_(std::move(heading)),
        ping_interval_(ping_interval),
        next_ping_(exchange_->started + ping_interval),
        chunk_head_(render_heading(heading_, "chat.completion.chunk")) {}

  // The head waits for the first token, so that a request that fails before it gets a status.
  void begin() override {
    open();
    frames_.clear();
    append_choice("{\"role\":\"assistant\",\"content\":\"\"}", "null");
    exchange_->send(frames_);
  }

  bool text(std::string_view released) override {
    std::string delta = "{\"content\":";
    append_json_string(delta, released);
    frames_.clear();
    append_choice(delta + "}", "null");
    written_ = true;
    return exchange_->send(frames_);
  }

  bool finish(FinishReason reason, const Usage& usage) override {
    frames_.clear();
    append_choice("{}", "\"" + std::string(reason_name(reason)) + "\"");
    if (heading_.include_usage) {
      sse::append_event(frames_,
                        chunk_head_ + ",\"choices\":[],\"usage\":" + render_usage(usage) + "}");
    }
    return exchange_->send(frames_);
  }

  void complete() override {
    if (exchange_->send(sse::kDone)) {
      exchange_->end_stream();
    } else {
      exchange_->cut();
    }
  }

  void fail(const ApiError& error) override {
    if (!opened_) return exchange_->respond(error_response(error));
    frames_.clear();
    sse::append_event(frames_, error_body(error));
    if (!exchange_->send(frames_)) return exchange_->cut();
    complete();
  }

  void tick(Nanoseconds now) override {
    if (std::exchange(written_, false)) next_ping_ = now + ping_interval_;
    if (now < next_ping_) return;
    next_ping_ = now + ping_interval_;
    open();
    exchange_->send(sse::kPing);
  }

 private:
  void open() {
    if (std::exchange(opened_, true)) return;
    http::Response head = sse::stream_head();
    if (!heading_.warning.empty()) head.fields.emplace_back("X-O3-Warning", heading_.warning);
    exchange_->begin_stream(head);
  }

  void append_choice(std::string_view delta, std::string_view reason) {
    std::string json = chunk_head_;
    json.append(",\"choices\":[{\"index\":0,\"delta\":").append(delta);
    json.append(",\"logprobs\":null,\"finish_reason\":").append(reason).append("}]");
    if (heading_.include_usage) json += ",\"usage\":null";
    sse::append_event(frames_, json + "}");
  }

  const std::shared_ptr<http::Exchange> exchange_;
  const AnswerHeading heading_;
  const std::chrono::milliseconds ping_interval_;
  Nanoseconds next_ping_;
  const std::string chunk_head_;
  std::string frames_;
  bool opened_ = false;
  bool written_ = false;  // since the last tick
};

}  // namespace

std::unique_ptr<Answer> make_stream_answer(std::shared_ptr<http::Exchange> exchange,
                                           AnswerHeading heading,
                                           std::chrono::milliseconds ping_interval) {
  return std::make_unique<StreamAnswer>(std::move(exchange), std::move(heading), ping_interval);
}

}  // namespace o3::api::openai
