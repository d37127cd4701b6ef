// SPDX-License-Identifier: Apache-2.0
#include "eval/perplexity.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "eval/model_session.h"
#include "eval/token_loss.h"

namespace o3::eval {
namespace {

constexpr int32_t kStepRows = 512;
constexpr int64_t kLogitBytes = int64_t{64} << 20;  // bound on one step's logits

Result<void> check(const PerplexityOptions& options, size_t tokens, std::optional<Token> bos) {
  if (options.window < 2) return invalid("window must be at least 2", "window");
  if (options.stride < 1) return invalid("stride must be at least 1", "stride");
  if (options.skip < 0 || options.skip > options.window - 2) {
    return invalid("skip must be from 0 to window - 2", "skip");
  }
  if (options.bos == WindowBos::kReplace && !bos) {
    return invalid("this model names no BOS token; --bos none would work", "bos");
  }
  if (tokens < static_cast<size_t>(options.window)) {
    return invalid("the file has " + std::to_string(tokens) + " tokens, less than one window of " +
                       std::to_string(options.window),
                   "window");
  }
  return {};
}

// Scores windows one after the other in a single sequence that is emptied each time.
class WindowScorer {
 public:
  WindowScorer(ModelSession& session, device::Backend& backend, const PerplexityOptions& options)
      : session_(session), backend_(backend), options_(options) {}

  // Sum of the losses at positions skip .. W-2. The last token is only ever a target.
  Result<double> score(std::span<const Token> window, std::optional<Token> first) {
    inputs_.assign(window.begin(), window.end() - 1);
    if (first) inputs_.front() = *first;
    session_.truncate(0, 0);
    double total = 0.0;
    const auto end = static_cast<int32_t>(inputs_.size());
    for (int32_t begin = 0; begin < end;) {
      const int32_t rows = chunk_rows(begin, end);
      const int32_t first_scored = std::max(begin, options_.skip);
      const int32_t scored = std::max(0, begin + rows - first_scored);
      O3_ASSIGN(const double loss, score_chunk(window, begin, rows, scored));
      total += loss;
      begin += rows;
    }
    return total;
  }

 private:
  // As many rows as a step may have, scored rows no more than its logits hold.
  int32_t chunk_rows(int32_t begin, int32_t end) const {
    const int32_t unscored = std::max(0, options_.skip - begin);
    const SessionLimits& limits = session_.limits();
    return std::min({end - begin, limits.step_rows, unscored + limits.step_logits});
  }

  Result<double> score_chunk(std::span<const Token> window, int32_t begin, int32_t rows,
                             int32_t scored) {
    const auto first = static_cast<size_t>(begin);
    const Feed feed{.sequence = 0,
                    .tokens = std::span<const Token>(inputs_).subspan(first, size_t(rows))};
    logit_rows_.resize(static_cast<size_t>(scored));
    std::iota(logit_rows_.begin(), logit_rows_.end(), rows - scored);
    O3_ASSIGN(const kernels::TensorView logits, session_.step({&feed, 1}, logit_rows_));
    losses_.resize(logit_rows_.size());
    const size_t target = first + static_cast<size_t>(rows) - losses_.size() + 1;
    token_losses(logits, window.subspan(target, losses_.size()), losses_, backend_);
    return std::accumulate(losses_.begin(), losses_.end(), 0.0);
  }

  ModelSession& session_;
  device::Backend& backend_;
  const PerplexityOptions& options_;
  std::vector<Token> inputs_;
  std::vector<int32_t> logit_rows_;
  std::vector<double> losses_;
};

SessionLimits limits_for(const PerplexityOptions& options, int32_t vocabulary) {
  const int32_t inputs = options.window - 1;
  const auto most_logits = static_cast<int32_t>(
      std::max<int64_t>(1, kLogitBytes / (int64_t{sizeof(float)} * vocabulary)));
  SessionLimits limits;
  limits.sequences = 1;
  limits.context = inputs;
  limits.step_rows = std::min(inputs, kStepRows);
  limits.step_logits = std::min({inputs - options.skip, limits.step_rows, most_logits});
  return limits;
}

}  // namespace

Result<PerplexityResult> perplexity(const model::Model& model, device::Backend& backend,
                                    std::span<const Token> tokens, std::optional<Token> bos,
                                    const PerplexityOptions& options,
                                    const PerplexityProgress& progress) {
  O3_TRY(check(options, tokens.size(), bos));
  const int32_t vocabulary = model.config().vocabulary;
  const auto outside = std::find_if(tokens.begin(), tokens.end(),
                                    [&](Token token) { return token < 0 || token >= vocabulary; });
  if (outside != tokens.end()) {
    return invalid("token id " + std::to_string(*outside) + " is outside the model's vocabulary");
  }
  O3_ASSIGN(const std::unique_ptr<ModelSession> session,
            ModelSession::create(model, backend, options.compute, limits_for(options, vocabulary)));
  WindowScorer scorer(*session, backend, options);
  const auto window = static_cast<size_t>(options.window);
  const auto stride = static_cast<size_t>(options.stride);
  auto windows = static_cast<int64_t>((tokens.size() - window) / stride + 1);
  if (options.windows > 0) windows = std::min(windows, options.windows);
  const std::optional<Token> first =
      options.bos == WindowBos::kReplace ? bos : std::optional<Token>{};

  PerplexityResult result;
  result.tokens = static_cast<int64_t>(tokens.size());
  double total = 0.0;
  while (result.windows < windows) {
    const size_t start = static_cast<size_t>(result.windows) * stride;
    O3_ASSIGN(const double loss, scorer.score(tokens.subspan(start, window), first));
    total += loss;
    ++result.windows;
    result.scored += options.window - 1 - options.skip;
    result.nll = total / static_cast<double>(result.scored);
    result.ppl = std::exp(result.nll);
    if (progress && !progress(result, windows)) {
      return Error{Code::kCancelled, "perplexity was interrupted", {}};
    }
  }
  return result;
}

nlohmann::ordered_json to_json(const PerplexityOptions& options, const PerplexityResult& result) {
  return {{"ppl", result.ppl},
          {"nll", result.nll},
          {"tokens", result.tokens},
          {"scored", result.scored},
          {"windows", result.windows},
          {"window", options.window},
          {"stride", options.stride},
          {"skip", options.skip},
          {"bos", options.bos == WindowBos::kReplace ? "replace" : "none"},
          {"compute", options.compute == kernels::Compute::kF32 ? "f32" : "fast"}};
}

}  // namespace o3::eval
