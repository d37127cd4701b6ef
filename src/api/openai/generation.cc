// SPDX-License-Identifier: Apache-2.0
#include "api/openai/generation.h"

#include "base/log.h"

namespace o3::api::openai {
namespace {

constexpr int kClientGone = 499;  // for the metric: it left before the engine had its request

Error shutting_down() {
  return unavailable("The server is shutting down.");
}

}  // namespace

Generation::Generation(Services& services, Parts parts)
    : services_(services),
      router_(*services.routers[parts.exchange->io_index()]),
      parts_(std::move(parts)),
      chain_(*parts_.model->tokenizer, std::move(parts_.stops)) {}

void Generation::start() {
  http::Exchange& exchange = *parts_.exchange;
  if (!exchange.open()) {
    services_.route.metrics.refused(kClientGone);
    exchange.cut();
    return close_record(Outcome::kCancelled, {});
  }
  exchange.on_gone([weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->on_client_gone();
  });
  const RequestId id = parts_.request->id;
  router_.add(id, shared_from_this());
  const auto sink = services_.routers[exchange.io_index()];
  auto accepted = services_.engine.submit(parts_.request, sink);
  if (accepted.ok()) return;
  router_.remove(id);
  ended_ = true;
  services_.route.refuse(exchange, accepted.error());
  close_record(Outcome::kError, {});
}

void Generation::on_delta(engine::Delta delta) {
  if (!ended_ && !delta.tokens.empty()) take_tokens(delta.tokens);
  if (!delta.finish) return;
  if (!ended_) on_finish(*delta.finish);
  if (parts_.permit.quota) {
    parts_.permit.quota->settle(delta.finish->prompt_tokens, delta.finish->completion_tokens);
  }
}

void Generation::take_tokens(const std::vector<Token>& tokens) {
  const Nanoseconds now = services_.clock.monotonic();
  if (!begun_) {
    begun_ = true;
    services_.route.metrics.first_token(now - parts_.exchange->started);
    parts_.answer->begin();
  } else {
    services_.route.metrics.tokens(tokens.size(), now - last_token_);
  }
  last_token_ = now;
  released_.clear();
  chain_.push(tokens, released_);
  if (!released_.empty() && !parts_.answer->text(released_)) return abandon();
  if (!chain_.stopped()) return;
  services_.engine.cancel(parts_.request->id);  // it need not go on
  succeed(Outcome::kStop, chain_.consumed());
}

void Generation::on_finish(const engine::Finish& finish) {
  switch (finish.outcome) {
    case Outcome::kStop:
    case Outcome::kLength: {
      if (!begun_) parts_.answer->begin();
      released_.clear();
      chain_.finish(released_);
      if (!released_.empty() && !parts_.answer->text(released_)) return abandon();
      // What was held back may have completed a stop string.
      const Outcome outcome = chain_.stopped() ? Outcome::kStop : finish.outcome;
      return succeed(outcome, finish.completion_tokens);
    }
    case Outcome::kCancelled:
      return fail(finish.outcome, shutting_down());
    case Outcome::kDeadline:
      return fail(finish.outcome,
                  finish.error.value_or(Error{Code::kDeadline, "The deadline passed.", {}}));
    case Outcome::kError:
      return fail(finish.outcome,
                  finish.error.value_or(Error{Code::kInternal, "no reason given", {}}));
  }
}

void Generation::succeed(Outcome outcome, int32_t completion_tokens) {
  const auto reason = outcome == Outcome::kLength ? FinishReason::kLength : FinishReason::kStop;
  const Usage usage{parts_.prompt_tokens, completion_tokens};
  if (!parts_.answer->finish(reason, usage)) return abandon();
  end(outcome);
  close_record(outcome, [self = shared_from_this()](const Result<void>& durable) {
    if (durable.ok()) return self->parts_.answer->complete();
    self->parts_.answer->fail(api_error(durable.error()));
  });
}

void Generation::fail(Outcome outcome, const Error& error) {
  if (error.code == Code::kInternal) {
    log::error("request {}: {}", parts_.exchange->request_id, error.message);
  }
  end(outcome);
  parts_.answer->fail(api_error(error));
  close_record(outcome, {});
}

void Generation::on_client_gone() {
  if (!ended_) abandon();
}

void Generation::abandon() {
  services_.engine.cancel(parts_.request->id);
  end(Outcome::kCancelled);
  parts_.exchange->cut();
  close_record(Outcome::kCancelled, {});
}

void Generation::end(Outcome outcome) {
  ended_ = true;
  services_.route.metrics.ended(outcome);
  services_.route.metrics.request(services_.clock.monotonic() - parts_.exchange->started);
}

void Generation::close_record(Outcome outcome,
                              const std::function<void(const Result<void>&)>& then) {
  const govern::AuditClose how{outcome, parts_.prompt_tokens, chain_.consumed()};
  parts_.permit.audit.close(how, [exchange = parts_.exchange, then](const Result<void>& durable) {
    if (then) exchange->post([then, durable] { then(durable); });
  });
}

void Generation::on_tick(Nanoseconds now) {
  if (!ended_) parts_.answer->tick(now);
}

void Generation::on_shutdown() {
  if (!ended_) services_.engine.cancel(parts_.request->id);
}

}  // namespace o3::api::openai
