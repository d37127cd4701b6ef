// SPDX-License-Identifier: Apache-2.0
#include "eval/model_session.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/check.h"
#include "cache/cache_spec.h"

namespace o3::eval {
namespace {

Error too_long(std::string message, std::string param) {
  return Error{Code::kTooLong, std::move(message), std::move(param)};
}

Error outside_vocabulary(Token token, int32_t vocabulary) {
  return invalid("token id " + std::to_string(token) + " is outside the vocabulary of " +
                     std::to_string(vocabulary),
                 "tokens");
}

}  // namespace

Result<std::unique_ptr<ModelSession>> ModelSession::create(const model::Model& model,
                                                           device::Backend& backend,
                                                           kernels::Compute compute,
                                                           const SessionLimits& limits) {
  if (limits.sequences < 1 || limits.context < 1 || limits.step_rows < 1 ||
      limits.step_logits < 1) {
    return invalid("a session needs at least one sequence, token, row and logit row");
  }
  if (limits.context > model.config().context) {
    return too_long("the model's context is " + std::to_string(model.config().context) +
                        " tokens, " + std::to_string(limits.context) + " are asked for",
                    "context");
  }
  std::unique_ptr<ModelSession> session(new ModelSession(model, backend, compute, limits));
  O3_TRY(session->allocate());
  return session;
}

Result<void> ModelSession::allocate() {
  O3_ASSIGN(cache::PageLayout layout,
            cache::make_page_layout(model_.cache_specs(), limits_.page_tokens));
  const auto pages_of = [&](const cache::KvGroup& group) {
    return static_cast<uint32_t>((limits_.context + group.page_tokens - 1) / group.page_tokens);
  };
  uint32_t pages = 0;
  for (const cache::KvGroup& group : layout.groups) pages += pages_of(group);
  pages *= static_cast<uint32_t>(limits_.sequences);
  O3_ASSIGN(pool_, cache::BlockPool::create(backend_, std::move(layout), pages));
  for (const cache::KvGroup& group : pool_->layout().groups) {
    std::vector<cache::BlockLease>& leases = leases_.emplace_back();
    for (int32_t sequence = 0; sequence < limits_.sequences; ++sequence) {
      O3_ASSIGN(cache::BlockLease lease, pool_->take(pages_of(group)));
      leases.push_back(std::move(lease));
    }
  }
  lengths_.assign(static_cast<size_t>(limits_.sequences), 0);
  sequences_.resize(leases_.size());

  const model::RunnerLimits limits{.rows = limits_.step_rows,
                                   .logit_rows = limits_.step_logits,
                                   .sequences = limits_.sequences,
                                   .context = limits_.context,
                                   .compute = compute_};
  O3_ASSIGN(runner_, model_.make_runner(limits, backend_,
                                        {.pool = pool_->data(),
                                         .layout = &pool_->layout(),
                                         .pages = pool_->total_blocks()}));
  return {};
}

Result<void> ModelSession::check(std::span<const Feed> feeds,
                                 std::span<const int32_t> logit_rows) const {
  const int32_t vocabulary = model_.config().vocabulary;
  std::vector<bool> fed(lengths_.size(), false);
  size_t rows = 0;
  for (const Feed& feed : feeds) {
    const auto sequence = static_cast<size_t>(feed.sequence);
    if (sequence >= lengths_.size() || fed[sequence] || feed.tokens.empty()) {
      return invalid("each feed names another sequence and brings at least one token");
    }
    fed[sequence] = true;
    rows += feed.tokens.size();
    if (static_cast<size_t>(lengths_[sequence]) + feed.tokens.size() >
        static_cast<size_t>(limits_.context)) {
      return too_long(
          "sequence longer than the session's " + std::to_string(limits_.context) + " tokens",
          "context");
    }
    for (const Token token : feed.tokens) {
      if (token < 0 || token >= vocabulary) return outside_vocabulary(token, vocabulary);
    }
  }
  if (rows == 0 || rows > static_cast<size_t>(limits_.step_rows) ||
      logit_rows.size() > static_cast<size_t>(limits_.step_logits)) {
    return too_long(
        "a step of " + std::to_string(rows) + " rows and " + std::to_string(logit_rows.size()) +
            " logit rows; the session allows 1 to " + std::to_string(limits_.step_rows) + " and " +
            std::to_string(limits_.step_logits),
        "step");
  }
  return {};
}

void ModelSession::gather(std::span<const Feed> feeds) {
  tokens_.clear();
  positions_.clear();
  for (auto& group : sequences_) group.clear();
  for (const Feed& feed : feeds) {
    const auto sequence = static_cast<size_t>(feed.sequence);
    const auto rows = static_cast<int32_t>(feed.tokens.size());
    for (size_t group = 0; group < sequences_.size(); ++group) {
      sequences_[group].push_back({.row_begin = static_cast<int32_t>(tokens_.size()),
                                   .rows = rows,
                                   .kv_len = lengths_[sequence] + rows,
                                   .table = leases_[group][sequence].ids().data()});
    }
    tokens_.insert(tokens_.end(), feed.tokens.begin(), feed.tokens.end());
    for (int32_t row = 0; row < rows; ++row) {
      const int32_t position = lengths_[sequence] + row;
      positions_.push_back({position, position, position});
    }
  }
}

Result<kernels::TensorView> ModelSession::step(std::span<const Feed> feeds,
                                               std::span<const int32_t> logit_rows) {
  O3_ASSIGN(const model::StepOutput output, run(feeds, logit_rows, {}));
  return output.logits;
}

Result<model::StepOutput> ModelSession::step_for_best(std::span<const Feed> feeds,
                                                      std::span<const int32_t> logit_rows) {
  const std::vector<uint8_t> enough(logit_rows.size(), 1);
  return run(feeds, logit_rows, enough);
}

Result<model::StepOutput> ModelSession::run(std::span<const Feed> feeds,
                                            std::span<const int32_t> logit_rows,
                                            std::span<const uint8_t> best_is_enough) {
  O3_TRY(check(feeds, logit_rows));
  gather(feeds);
  std::vector<std::span<const kernels::AttnSequence>> groups(sequences_.begin(), sequences_.end());
  O3_TRY(runner_->launch({.tokens = tokens_,
                          .positions = positions_,
                          .sequences = groups,
                          .logit_rows = logit_rows,
                          .best_is_enough = best_is_enough}));
  O3_ASSIGN(const model::StepOutput output, runner_->collect());
  for (const Feed& feed : feeds) {
    lengths_[static_cast<size_t>(feed.sequence)] += static_cast<int32_t>(feed.tokens.size());
  }
  return output;
}

void ModelSession::truncate(int32_t sequence, int32_t length) {
  int32_t& now = lengths_.at(static_cast<size_t>(sequence));
  O3_CHECK(length >= 0 && length <= now, "a sequence can only be cut");
  now = length;
}

}  // namespace o3::eval
