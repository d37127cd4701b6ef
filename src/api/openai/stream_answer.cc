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
        logprobs_(heading_),
        ping_interval_(ping_interval),
        next_ping_(exchange_->started + ping_interval),
        chunk_head_(render_heading(heading_, chat() ? "chat.completion.chunk" : "text_completion")),
        offsets_(heading_.choices, 0) {}

  // The head waits for the first token, so that a request that fails before it gets a status.
  void begin() override {
    open();
    if (!chat()) return;
    frames_.clear();
    for (size_t choice = 0; choice < heading_.choices; ++choice) {
      append_choice(choice, R"("delta":{"role":"assistant","content":""},"logprobs":null)", nullptr,
                    {});
    }
    exchange_->send(frames_);
  }

  bool prompt(size_t choice, std::string_view echo, const ScoredPrompt& scored) override {
    if (echo.empty()) return true;
    frames_.clear();
    std::string logprobs = "null";
    if (heading_.logprobs && !chat()) {
      logprobs = logprobs_.render({}, &scored, offsets_[choice]);
    }
    append_choice(choice, content(echo, logprobs), nullptr, {});
    return send();
  }

  bool piece(size_t choice, const Piece& piece, const Usage& so_far) override {
    frames_.clear();
    const std::string logprobs =
        heading_.logprobs ? logprobs_.render(piece.tokens, nullptr, offsets_[choice]) : "null";
    append_choice(choice, content(piece.text, logprobs), nullptr, so_far);
    return send();
  }

  bool end_choice(size_t choice, const ChoiceEnd& end, const Usage& so_far) override {
    frames_.clear();
    append_choice(choice, chat() ? R"("delta":{},"logprobs":null)" : R"("text":"","logprobs":null)",
                  &end, so_far);
    return send();
  }

  bool finish(const Usage& usage) override {
    if (!heading_.include_usage) return true;
    frames_.clear();
    sse::append_event(frames_,
                      chunk_head_ + ",\"choices\":[],\"usage\":" + render_usage(usage) + "}");
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
  bool chat() const noexcept { return heading_.dialect == Dialect::kChat; }

  void open() {
    if (std::exchange(opened_, true)) return;
    http::Response head = sse::stream_head();
    if (!heading_.warning.empty()) head.fields.emplace_back("X-O3-Warning", heading_.warning);
    exchange_->begin_stream(head);
  }

  bool send() {
    written_ = true;
    return exchange_->send(frames_);
  }

  std::string content(std::string_view text, std::string_view logprobs) const {
    std::string out = chat() ? "\"delta\":{\"content\":" : "\"text\":";
    append_json_string(out, text);
    if (chat()) out += '}';
    return out.append(",\"logprobs\":").append(logprobs);
  }

  // `members`: text or delta, and logprobs.
  void append_choice(size_t choice, std::string_view members, const ChoiceEnd* end,
                     const Usage& so_far) {
    std::string json = chunk_head_;
    json.append(",\"choices\":[{\"index\":").append(std::to_string(choice)).append(",");
    json.append(members).append(render_end(end)).append("}]");
    if (heading_.continuous_usage) {
      json.append(",\"usage\":").append(render_usage(so_far));
    } else if (heading_.include_usage) {
      json += ",\"usage\":null";
    }
    sse::append_event(frames_, json + "}");
  }

  const std::shared_ptr<http::Exchange> exchange_;
  const AnswerHeading heading_;
  const LogprobsRenderer logprobs_;
  const std::chrono::milliseconds ping_interval_;
  Nanoseconds next_ping_;
  const std::string chunk_head_;
  std::vector<size_t> offsets_;  // code points of each choice's text so far
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
