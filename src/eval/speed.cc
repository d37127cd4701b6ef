// SPDX-License-Identifier: Apache-2.0
#include "eval/speed.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "eval/model_session.h"

namespace o3::eval {
namespace {

constexpr int32_t kMaxBatch = 1024;
constexpr int32_t kMaxRepeats = 1000;

int32_t start_length(const SpeedOptions& options) {
  return options.context > 0 ? options.context : options.prefill;
}

Result<void> check(const SpeedOptions& options) {
  const auto in_range = [](int32_t value, int32_t least, int32_t most, const char* name) {
    if (value >= least && value <= most) return Result<void>{};
    return Result<void>(invalid(std::string(name) + " must be from " + std::to_string(least) +
                                    " to " + std::to_string(most),
                                name));
  };
  constexpr int32_t kMaxTokens = 1 << 24;
  O3_TRY(in_range(options.prefill, 1, kMaxTokens, "prefill"));
  O3_TRY(in_range(options.decode, 1, kMaxTokens, "decode"));
  O3_TRY(in_range(options.batch, 1, kMaxBatch, "batch"));
  O3_TRY(in_range(options.context, 0, kMaxTokens, "context"));
  O3_TRY(in_range(options.step_rows, 1, kMaxTokens, "step_rows"));
  return in_range(options.repeats, 1, kMaxRepeats, "repeats");
}

double seconds(Nanoseconds duration) {
  return std::chrono::duration<double>(duration).count();
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2.0;
}

class SpeedRun {
 public:
  SpeedRun(ModelSession& session, const Clock& clock, const SpeedOptions& options,
           int32_t vocabulary, const std::function<bool()>& keep_going)
      : session_(session),
        clock_(clock),
        options_(options),
        vocabulary_(static_cast<uint32_t>(vocabulary)),
        keep_going_(keep_going) {}

  // Seconds to bring every sequence from empty to `length` tokens.
  Result<double> fill(int32_t length) {
    for (int32_t sequence = 0; sequence < options_.batch; ++sequence) {
      session_.truncate(sequence, 0);
    }
    const Nanoseconds start = clock_.monotonic();
    for (int32_t sequence = 0; sequence < options_.batch; ++sequence) {
      for (int32_t done = 0; done < length;) {
        const int32_t rows = std::min(session_.limits().step_rows, length - done);
        const Feed feed{.sequence = sequence, .tokens = tokens(rows)};
        done += rows;
        const int32_t last = rows - 1;
        const bool whole = done == length;  // a prompt's end is what needs logits
        O3_TRY(step({&feed, 1}, {&last, whole ? size_t{1} : size_t{0}}));
      }
    }
    return seconds(clock_.monotonic() - start);
  }

  // Seconds for `decode` steps of one token per sequence, from `length` tokens on.
  Result<double> decode(int32_t length) {
    for (int32_t sequence = 0; sequence < options_.batch; ++sequence) {
      session_.truncate(sequence, length);
    }
    std::vector<int32_t> rows(static_cast<size_t>(options_.batch));
    std::iota(rows.begin(), rows.end(), 0);
    std::vector<Feed> feeds(rows.size());
    const Nanoseconds start = clock_.monotonic();
    for (int32_t done = 0; done < options_.decode; ++done) {
      const std::span<const Token> next = tokens(options_.batch);
      for (size_t index = 0; index < feeds.size(); ++index) {
        feeds[index] = {.sequence = rows[index], .tokens = next.subspan(index, 1)};
      }
      O3_TRY(step(feeds, rows));
    }
    return seconds(clock_.monotonic() - start);
  }

 private:
  Result<void> step(std::span<const Feed> feeds, std::span<const int32_t> logit_rows) {
    if (keep_going_ && !keep_going_()) {
      return Error{Code::kCancelled, "the measurement was interrupted", {}};
    }
    O3_TRY(session_.step_for_best(feeds, logit_rows));
    return {};
  }

  // Fresh ids from a linear congruential generator (Knuth's MMIX constants).
  std::span<const Token> tokens(int32_t count) {
    tokens_.resize(static_cast<size_t>(count));
    for (Token& token : tokens_) {
      random_ = random_ * 6364136223846793005U + 1442695040888963407U;
      token = static_cast<Token>((random_ >> 33U) % vocabulary_);
    }
    return tokens_;
  }

  ModelSession& session_;
  const Clock& clock_;
  const SpeedOptions& options_;
  uint32_t vocabulary_;
  const std::function<bool()>& keep_going_;
  std::vector<Token> tokens_;
  uint64_t random_ = 1;
};

// KV bytes that one sequence of `length` tokens reads in a step.
int64_t kv_bytes(const model::Model& model, double length) {
  double bytes = 0.0;
  for (const cache::CacheSpec& spec : model.cache_specs()) {
    const double seen = spec.window > 0 ? std::min<double>(length, spec.window) : length;
    bytes += 2.0 * seen * spec.kv_heads *
             static_cast<double>(device::row_bytes(spec.dtype, spec.head_dim));
  }
  return static_cast<int64_t>(bytes);
}

SpeedResult summarise(const model::Model& model, const SpeedOptions& options,
                      const std::vector<double>& prefill_s, const std::vector<double>& decode_s) {
  const double prefill_tokens = static_cast<double>(options.prefill) * options.batch;
  const double decode_tokens = static_cast<double>(options.decode) * options.batch;
  const auto [prefill_fast, prefill_slow] = std::minmax_element(prefill_s.begin(), prefill_s.end());
  const auto [decode_fast, decode_slow] = std::minmax_element(decode_s.begin(), decode_s.end());
  const double mean_length = start_length(options) + (options.decode + 1) / 2.0;

  SpeedResult result;
  result.prefill_tokens_per_s = prefill_tokens / median(prefill_s);
  result.decode_tokens_per_s = decode_tokens / median(decode_s);
  result.decode_step_s = median(decode_s) / options.decode;
  result.step_bytes = model.weight_bytes() + options.batch * kv_bytes(model, mean_length);
  result.read_gb_per_s = static_cast<double>(result.step_bytes) / result.decode_step_s / 1e9;
  result.prefill_min = prefill_tokens / *prefill_slow;
  result.prefill_max = prefill_tokens / *prefill_fast;
  result.decode_min = decode_tokens / *decode_slow;
  result.decode_max = decode_tokens / *decode_fast;
  return result;
}

}  // namespace

Result<SpeedResult> measure_speed(const model::Model& model, device::Backend& backend,
                                  const Clock& clock, const SpeedOptions& options,
                                  const std::function<bool()>& keep_going) {
  O3_TRY(check(options));
  const int32_t start = start_length(options);
  SessionLimits limits;
  limits.sequences = options.batch;
  limits.context = std::max(options.prefill, start + options.decode);
  limits.step_rows =
      std::max(options.batch, std::min(options.step_rows, std::max(options.prefill, start)));
  limits.step_logits = options.batch;
  O3_ASSIGN(const std::unique_ptr<ModelSession> session,
            ModelSession::create(model, backend, options.compute, limits));
  SpeedRun run(*session, clock, options, model.config().vocabulary, keep_going);

  std::vector<double> prefill_s;
  std::vector<double> decode_s;
  for (int32_t repeat = 0; repeat <= options.repeats; ++repeat) {
    O3_ASSIGN(const double taken, run.fill(options.prefill));
    if (repeat > 0) prefill_s.push_back(taken);
  }
  if (start != options.prefill) O3_TRY(run.fill(start));
  for (int32_t repeat = 0; repeat <= options.repeats; ++repeat) {
    O3_ASSIGN(const double taken, run.decode(start));
    if (repeat > 0) decode_s.push_back(taken);
  }
  SpeedResult result = summarise(model, options, prefill_s, decode_s);
  result.sampling = measure_sampling(model.config().vocabulary, clock);
  return result;
}

nlohmann::ordered_json to_json(const SpeedSetup& setup, const SpeedOptions& options,
                               const SpeedResult& result) {
  return {{"prefill_tokens_per_s", result.prefill_tokens_per_s},
          {"decode_tokens_per_s", result.decode_tokens_per_s},
          {"batch", options.batch},
          {"device", setup.device},
          {"threads", setup.threads},
          {"isa", setup.isa},
          {"model_bytes", setup.model_bytes},
          {"read_gb_per_s", result.read_gb_per_s},
          {"prefill", options.prefill},
          {"decode", options.decode},
          {"context", start_length(options)},
          {"repeats", options.repeats},
          {"kv", setup.kv},
          {"compute", options.compute == kernels::Compute::kF32 ? "f32" : "fast"},
          {"deterministic", setup.deterministic},
          {"decode_step_s", result.decode_step_s},
          {"step_bytes", result.step_bytes},
          {"prefill_min", result.prefill_min},
          {"prefill_max", result.prefill_max},
          {"decode_min", result.decode_min},
          {"decode_max", result.decode_max},
          {"sampling_us",
           {{"copy", result.sampling.copy_s * 1e6},
            {"greedy", result.sampling.greedy_s * 1e6},
            {"plain", result.sampling.plain_s * 1e6},
            {"truncated", result.sampling.truncated_s * 1e6},
            {"nucleus", result.sampling.nucleus_s * 1e6},
            {"edited", result.sampling.edited_s * 1e6}}}};
}

}  // namespace o3::eval
