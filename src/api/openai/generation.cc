// SPDX-License-Identifier: Apache-2.0
#include "api/openai/generation.h"

#include <algorithm>

#include "base/log.h"

namespace o3::api::openai {
namespace {

constexpr int kClientGone = 499;  // for the metric: it left before the engine had its request

Error shutting_down() {
  return unavailable("The server is shutting down, or the model is being unloaded.");
}

}  // namespace

Generation::Generation(Services& services, Parts parts)
    : services_(services),
      router_(*services.routers[parts.exchange->io_index()]),
      parts_(std::move(parts)),
      unfinished_(parts_.requests.size()) {
  choices_.reserve(parts_.requests.size());
  for (size_t i = 0; i < parts_.requests.size(); ++i) {
    choices_.push_back({.index = i, .chain = {*parts_.model->tokenizer, parts_.output}});
    const auto* work = std::get_if<engine::Generate>(&parts_.requests[i]->work);
    if (work->prompt_logprobs) choices_.back().prompt.tokens = work->prompt;
  }
}

Generation::Choice& Generation::choice_of(RequestId id) {
  const auto found =
      std::ranges::find(parts_.requests, id, [](const auto& request) { return request->id; });
  return choices_[static_cast<size_t>(found - parts_.requests.begin())];
}

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
  if (!submit_all()) close_record(Outcome::kError, {});
}

// All, or none goes on; then the answer says why.
bool Generation::submit_all() {
  const auto sink = services_.routers[parts_.exchange->io_index()];
  for (size_t i = 0; i < parts_.requests.size(); ++i) {
    const auto& request = parts_.requests[i];
    router_.add(request->id, shared_from_this());
    auto accepted = services_.engine.submit(request, sink);
    if (accepted.ok()) continue;
    router_.remove(request->id);
    unfinished_ = i;  // these have a Finish to come
    ended_ = true;
    for (size_t earlier = 0; earlier < i; ++earlier) {
      services_.engine.cancel(parts_.requests[earlier]->id);
    }
    services_.route.refuse(*parts_.exchange, accepted.error());
    return false;
  }
  return true;
}

void Generation::on_delta(engine::Delta delta) {
  Choice& choice = choice_of(delta.id);
  if (!ended_ && !choice.ended) {
    choice.cached_tokens = delta.cached_tokens;
    std::ranges::move(delta.prompt_logprobs, std::back_inserter(choice.prompt.scores));
    if (!delta.tokens.empty()) take_tokens(choice, delta);
  }
  if (!delta.finish) return;
  if (!ended_ && !choice.ended) on_finish(choice, *delta.finish);
  settle(*delta.finish);
}

void Generation::settle(const engine::Finish& finish) {
  settled_prompt_ += finish.prompt_tokens;
  settled_completion_ += finish.completion_tokens;
  if (--unfinished_ > 0 || !parts_.permit.quota) return;
  parts_.permit.quota->settle(settled_prompt_, settled_completion_);
}

void Generation::begin(Choice& choice) {
  if (!std::exchange(begun_, true)) parts_.answer->begin();
  if (std::exchange(choice.begun, true)) return;
  if (parts_.echoes[choice.index].empty() && choice.prompt.tokens.empty()) return;
  if (!parts_.answer->prompt(choice.index, parts_.echoes[choice.index], choice.prompt)) abandon();
}

void Generation::take_tokens(Choice& choice, engine::Delta& delta) {
  const Nanoseconds now = services_.clock.monotonic();
  if (!begun_) {
    services_.route.metrics.first_token(now - parts_.exchange->started);
  } else if (choice.begun) {
    services_.route.metrics.tokens(delta.tokens.size(), now - choice.last_token);
  }
  choice.last_token = now;
  begin(choice);
  if (ended_) return;
  released_.clear();
  choice.chain.push(delta.tokens, released_, delta.logprobs);
  choice.completion_tokens = choice.chain.consumed();
  if (!show(choice)) return abandon();
  if (!choice.chain.stopped()) return;
  services_.engine.cancel(request_of(choice).id);  // it need not go on
  end_choice(choice, Outcome::kStop, nullptr);
}

bool Generation::show(Choice& choice) {
  const std::vector<ScoredToken> scored = choice.chain.take_scored();
  if (parts_.prompt_only || (released_.empty() && scored.empty())) return true;
  return parts_.answer->piece(choice.index, {released_, scored}, usage());
}

void Generation::on_finish(Choice& choice, const engine::Finish& finish) {
  switch (finish.outcome) {
    case Outcome::kStop:
    case Outcome::kLength: {
      begin(choice);
      if (ended_) return;
      released_.clear();
      choice.chain.finish(released_);
      choice.completion_tokens = finish.completion_tokens;
      if (!show(choice)) return abandon();
      // What was held back may have completed a stop string.
      const Outcome outcome = choice.chain.stopped() ? Outcome::kStop : finish.outcome;
      return end_choice(choice, outcome, &finish);
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

// `finish`: null while the engine does not know yet that a stop string ended it.
void Generation::end_choice(Choice& choice, Outcome outcome, const engine::Finish* finish) {
  choice.ended = true;
  choice.outcome = outcome;
  ChoiceEnd how{.reason =
                    outcome == Outcome::kLength ? FinishReason::kLength : FinishReason::kStop};
  if (choice.chain.stopped()) {
    how.stop = choice.chain.stop();
  } else if (finish != nullptr && finish->stop_token &&
             std::ranges::find(parts_.named_stops, *finish->stop_token) !=
                 parts_.named_stops.end()) {
    how.stop = *finish->stop_token;
  }
  if (!parts_.answer->end_choice(choice.index, how, usage())) return abandon();
  if (std::ranges::all_of(choices_, &Choice::ended)) succeed();
}

Usage Generation::usage() const {
  Usage sum{.prompt_tokens = parts_.prompt_tokens};
  // A prompt counts once, as its first choice met it.
  for (size_t i = 0; i < choices_.size(); i += parts_.candidates) {
    sum.cached_tokens += choices_[i].cached_tokens;
  }
  if (parts_.prompt_only) return sum;
  for (const Choice& choice : choices_) sum.completion_tokens += choice.completion_tokens;
  return sum;
}

void Generation::succeed() {
  if (!parts_.answer->finish(usage())) return abandon();
  const bool cut = std::ranges::any_of(
      choices_, [](const Choice& choice) { return choice.outcome == Outcome::kLength; });
  const Outcome outcome = cut ? Outcome::kLength : Outcome::kStop;
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
  cancel_all();
  end(outcome);
  parts_.answer->fail(api_error(error));
  close_record(outcome, {});
}

void Generation::on_client_gone() {
  if (!ended_) abandon();
}

void Generation::cancel_all() {
  for (const auto& request : parts_.requests) services_.engine.cancel(request->id);
}

void Generation::abandon() {
  if (ended_) return;
  cancel_all();
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
  const govern::AuditClose how{outcome, parts_.prompt_tokens, usage().completion_tokens};
  parts_.permit.audit.close(how, [exchange = parts_.exchange, then](const Result<void>& durable) {
    if (then) exchange->post([then, durable] { then(durable); });
  });
}

void Generation::on_tick(Nanoseconds now) {
  if (!ended_) parts_.answer->tick(now);
}

void Generation::on_shutdown() {
  if (!ended_) cancel_all();
}

}  // namespace o3::api::openai
