// SPDX-License-Identifier: Apache-2.0
#include "engine/model_instance.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/log.h"

namespace o3::engine {
namespace {

SchedulerLimits scheduler_limits(const InstanceOptions& options) {
  SchedulerLimits limits;
  limits.max_running = options.max_running;
  limits.max_step_rows = options.max_step_rows;
  limits.step_time_target = options.step_time_target;
  limits.share_prefixes = options.share_prefixes;
  return limits;
}

Result<void> check_options(const InstanceOptions& options) {
  if (options.max_running < 1 || options.max_running > 65536) {
    return invalid("max_running must be 1 to 65536", "max_running");
  }
  if (options.max_step_rows < options.max_running || options.max_step_rows > 1 << 20) {
    return invalid("max_step_rows must be at least max_running (" +
                       std::to_string(options.max_running) + ") and at most 1048576",
                   "max_step_rows");
  }
  if (options.step_time_target <= Nanoseconds(0)) {
    return invalid("step_time_target must be positive", "step_time_target");
  }
  return {};
}

Result<std::unique_ptr<cache::BlockPool>> make_pool(const InstanceOptions& options,
                                                    device::Backend& backend,
                                                    const model::Model& model) {
  O3_ASSIGN(cache::PageLayout layout,
            cache::make_page_layout(model.cache_specs(), options.page_tokens));
  const int64_t least = layout.page_bytes * std::ssize(layout.groups);
  if (options.kv_bytes < least) {
    return invalid("a KV pool of " + std::to_string(options.kv_bytes) +
                       " bytes holds no sequence; it needs at least " + std::to_string(least),
                   "kv_bytes");
  }
  const int64_t blocks = std::min<int64_t>(options.kv_bytes / layout.page_bytes, UINT32_MAX);
  return cache::BlockPool::create(backend, std::move(layout), static_cast<uint32_t>(blocks));
}

bool is_stop(const Generate& work, Token token) {
  return std::find(work.stop_tokens.begin(), work.stop_tokens.end(), token) !=
         work.stop_tokens.end();
}

std::optional<Token> stop_token_of(const Sequence& sequence) {
  if (sequence.outcome != Outcome::kStop || sequence.sampled.empty()) return std::nullopt;
  const Token last = sequence.sampled.back();
  return is_stop(sequence.work(), last) ? std::optional(last) : std::nullopt;
}

// What the sink is to get after this step.
Delta delta_of(Sequence& sequence) {
  return {.id = sequence.request->id,
          .tokens = std::exchange(sequence.undelivered, {}),
          .finish = std::nullopt,
          .logprobs = std::exchange(sequence.logprobs, {}),
          .prompt_logprobs = std::exchange(sequence.prompt_logprobs, {}),
          .cached_tokens = sequence.cached.value_or(0)};
}

}  // namespace

InstanceStats& InstanceStats::operator+=(const InstanceStats& other) noexcept {
  running += other.running;
  waiting += other.waiting;
  blocks_used += other.blocks_used;
  blocks_cached += other.blocks_cached;
  blocks_total += other.blocks_total;
  kv_time += other.kv_time;
  prompt_tokens += other.prompt_tokens;
  cached_tokens += other.cached_tokens;
  output_tokens += other.output_tokens;
  preemptions += other.preemptions;
  return *this;
}

InstanceStats InstanceStats::lasting() const noexcept {
  return {.kv_time = kv_time,
          .prompt_tokens = prompt_tokens,
          .cached_tokens = cached_tokens,
          .output_tokens = output_tokens,
          .preemptions = preemptions};
}

ModelInstance::ModelInstance(const InstanceOptions& options, Parts parts, const Clock& clock)
    : parts_(std::move(parts)),
      clock_(clock),
      limits_(RequestLimits::of(parts_.model->config().vocabulary, parts_.model->config().context,
                                parts_.pool->layout(), parts_.pool->total_blocks())),
      scheduler_(scheduler_limits(options), *parts_.pool),
      sampler_(limits_.vocabulary),
      batch_(parts_.pool->layout().groups.size()) {}

Result<std::unique_ptr<ModelInstance>> ModelInstance::create(
    const InstanceOptions& options, device::Backend& backend,
    std::shared_ptr<const model::Model> model, const Clock& clock) {
  O3_TRY(check_options(options));
  if (model->config().vocabulary < 1 || model->config().context < 1) {
    return invalid("the model has no vocabulary or no context");
  }
  Parts parts{.model = std::move(model), .pool = nullptr, .executor = nullptr};
  O3_ASSIGN(parts.pool, make_pool(options, backend, *parts.model));
  const ExecutorLimits limits{
      .max_step_rows = options.max_step_rows,
      .max_logit_rows = options.max_running + SchedulerLimits{}.max_scored_rows,
      .max_sequences = options.max_running,
      .max_context = parts.model->config().context,
      .compute = options.compute};
  O3_ASSIGN(parts.executor, ModelExecutor::create(limits, backend, *parts.model, *parts.pool));
  return std::unique_ptr<ModelInstance>(new ModelInstance(options, std::move(parts), clock));
}

void ModelInstance::submit(Submission submission) {
  Sequence& sequence = scheduler_.enqueue(
      std::make_unique<Sequence>(std::move(submission.request), std::move(submission.sink)));
  if (failure_) scheduler_.retire(sequence, Outcome::kError, failure_);
}

void ModelInstance::cancel(RequestId id) {
  scheduler_.retire(id, Outcome::kCancelled);
}
void ModelInstance::cancel_all() {
  scheduler_.retire_all(Outcome::kCancelled);
}

void ModelInstance::step(const std::function<void()>& poll, Outbox& outbox,
                         std::vector<RequestId>& finished) {
  scheduler_.plan(clock_.monotonic(), plan_);
  scheduler_.commit(plan_);
  start_constraints();
  if (!plan_.rows.empty()) run(poll);
  hand_over(outbox, finished);
  usage_.observe(scheduler_.pages().usage(), clock_.monotonic());
}

void ModelInstance::start_constraints() {
  for (const SequenceRows& share : plan_.rows) {
    Sequence& sequence = *share.sequence;
    // A preempted one still has its history and its constraint.
    if (share.admit && sequence.sampled.empty() && has_penalties(sequence.work().sampling)) {
      sequence.history.add_prompt(sequence.work().prompt);
    }
    if (!share.admit || !sequence.work().constraint || sequence.constraint) continue;
    sequence.constraint = sequence.work().constraint();
    sequence.mask.resize((static_cast<size_t>(limits_.vocabulary) + 31) / 32);
    if (sequence.constraint == nullptr) {
      scheduler_.retire(sequence, Outcome::kError,
                        Error{Code::kInternal, "the output constraint could not be made", {}});
    }
  }
}

void ModelInstance::run(const std::function<void()>& poll) {
  poll();
  const Nanoseconds began = clock_.monotonic();
  batch_.build(plan_);
  parts_.executor->launch(batch_.view());
  fill_masks();
  const Result<model::StepOutput> output = parts_.executor->collect();
  poll();
  if (output.ok()) {
    count_prompt_tokens();
    sample(*output);
  } else {
    fail(output.error());
  }
  scheduler_.complete(plan_, clock_.monotonic() - began);
}

// What is recomputed after a preemption was counted before.
void ModelInstance::count_prompt_tokens() {
  for (const SequenceRows& share : plan_.rows) {
    const Sequence& sequence = *share.sequence;
    const int32_t from = std::max(sequence.filled, sequence.computed);
    const int32_t to = std::min(sequence.filled + share.rows, sequence.prompt_tokens());
    prompt_tokens_ += std::max(0, to - from);
    if (share.admit) cached_tokens_ += share.match.tokens;
  }
}

void ModelInstance::fill_masks() {
  for (const SequenceRows& share : plan_.rows) {
    Sequence& sequence = *share.sequence;
    if (!share.sample || sequence.constraint == nullptr) continue;
    std::fill(sequence.mask.begin(), sequence.mask.end(), 0U);
    sequence.constraint->fill(sequence.mask);
  }
}

void ModelInstance::sample(const model::StepOutput& output) {
  const auto enough = batch_.view().best_is_enough;
  int64_t row = 0;
  for (const SequenceRows& share : plan_.rows) {
    Sequence& sequence = *share.sequence;
    const int32_t scored = sequence.scored_rows(share.rows);
    const int64_t first = row;
    row += scored + (share.sample ? 1 : 0);
    if (sequence.retiring) continue;  // cancelled while the step ran
    if (scored > 0) score_prompt(sequence, scored, output.logits, first);
    if (!share.sample) continue;
    const auto last = static_cast<size_t>(row - 1);
    if (!output.best.empty() && enough[last] != 0) {
      accept(sequence, Sampler::found(output.best[last]));
    } else {
      sample_row(sequence,
                 {output.logits.row<float>(row - 1), static_cast<size_t>(limits_.vocabulary)});
    }
  }
}

void ModelInstance::accept(Sequence& sequence, const Result<Token>& token) {
  if (token.ok()) {
    take_token(sequence, *token);
  } else {
    scheduler_.retire(sequence, Outcome::kError, token.error());
  }
}

void ModelInstance::score_prompt(Sequence& sequence, int32_t rows, const device::TensorView& logits,
                                 int64_t first_row) {
  const int32_t from = std::max(sequence.filled, sequence.prompt_scored);
  for (int32_t i = 0; i < rows; ++i) {
    logprobs_.read({logits.row<float>(first_row + i), static_cast<size_t>(limits_.vocabulary)});
    sequence.prompt_logprobs.push_back(
        logprobs_.of(sequence.token(from + i + 1), *sequence.work().prompt_logprobs));
  }
  sequence.prompt_scored = from + rows;
}

void ModelInstance::sample_row(Sequence& sequence, std::span<float> logits) {
  const std::optional<int32_t>& asked = sequence.work().logprobs;
  if (asked) logprobs_.read(logits);
  const Result<Token> token = next_token(sequence, logits);
  accept(sequence, token);
  // A stop token is not delivered.
  if (token.ok() && asked && sequence.logprobs.size() < sequence.undelivered.size()) {
    sequence.logprobs.push_back(logprobs_.of(*token, *asked));
  }
}

Result<Token> ModelInstance::next_token(Sequence& sequence, std::span<float> logits) {
  const Generate& work = sequence.work();
  const SamplingParams& params = work.sampling;
  if (has_penalties(params)) apply_penalties(logits, sequence.history, params);
  apply_bias(logits, params.bias);
  forbid_bad_words(logits, {work.prompt, sequence.sampled}, params.bad_words);
  const bool too_early = std::ssize(sequence.sampled) < params.min_tokens;
  // A constraint ends its text by itself, and may have nothing but a stop token left.
  if (too_early && sequence.constraint == nullptr) forbid(logits, work.stop_tokens);
  auto token =
      sampler_.sample(logits, params, sequence.mask, static_cast<uint32_t>(sequence.length()));
  if (token.ok() || (params.bad_words.empty() && !too_early)) return token;
  return invalid("bad_words and min_tokens leave no token that could come next", "bad_words");
}

void ModelInstance::take_token(Sequence& sequence, Token token) {
  const Generate& work = sequence.work();
  sequence.sampled.push_back(token);
  if (has_penalties(work.sampling)) sequence.history.add_sampled(token);
  ++output_tokens_;
  if (is_stop(work, token)) {
    return scheduler_.retire(sequence, Outcome::kStop);
  }
  if (sequence.constraint != nullptr && !sequence.constraint->accept(token)) {
    return scheduler_.retire(
        sequence, Outcome::kError,
        Error{Code::kInternal, "the output constraint refused a token that it had allowed", {}});
  }
  sequence.undelivered.push_back(token);
  if (sequence.constraint != nullptr && sequence.constraint->complete()) {
    scheduler_.retire(sequence, Outcome::kStop);
  } else if (std::ssize(sequence.sampled) == work.max_new_tokens) {
    scheduler_.retire(sequence, Outcome::kLength);
  }
}

void ModelInstance::fail(const Error& why) {
  log::error("engine: the backend failed, all requests end: {}", why.message);
  failure_ = unavailable("the inference backend failed; the server needs a restart");
  scheduler_.retire_all(Outcome::kError, failure_);
}

void ModelInstance::hand_over(Outbox& outbox, std::vector<RequestId>& finished) {
  for (const SequenceRows& share : plan_.rows) {
    Sequence& sequence = *share.sequence;
    if (sequence.retiring) continue;
    if (sequence.undelivered.empty() && sequence.prompt_logprobs.empty()) continue;
    outbox.add(sequence.sink, delta_of(sequence));
  }
  scheduler_.reap(released_);
  plan_.clear();  // it may name released sequences
  for (const auto& sequence : released_) {
    const RequestId id = sequence->request->id;
    Finish finish{.outcome = sequence->outcome,
                  .error = std::move(sequence->error),
                  .prompt_tokens = std::min(sequence->computed, sequence->prompt_tokens()),
                  .completion_tokens = static_cast<int32_t>(sequence->sampled.size()),
                  .stop_token = stop_token_of(*sequence)};
    Delta delta = delta_of(*sequence);
    delta.finish = std::move(finish);
    outbox.add(sequence->sink, std::move(delta));
    finished.push_back(id);
  }
  released_.clear();
}

InstanceStats ModelInstance::stats() const {
  return {.running = scheduler_.running(),
          .waiting = scheduler_.waiting(),
          .blocks_used = scheduler_.pages().used(),
          .blocks_cached = scheduler_.pages().cached(),
          .blocks_total = scheduler_.pages().total(),
          .kv_time = usage_.total(),
          .prompt_tokens = prompt_tokens_,
          .cached_tokens = cached_tokens_,
          .output_tokens = output_tokens_,
          .preemptions = scheduler_.preemptions()};
}

}  // namespace o3::engine
