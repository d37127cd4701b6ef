// SPDX-License-Identifier: Apache-2.0
// From one row of logits to one token. No full sort: a row costs a few passes over it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "engine/request.h"

namespace o3::engine {

// Whether the token of the largest logit is taken without a draw.
inline bool is_greedy(const SamplingParams& params) noexcept {
  return params.temperature == 0.0F || params.top_k == 1;
}

// Holds the scratch memory of the passes; the result depends on the arguments of sample() only, and
// is the same on every machine (fixed order of sums, no fused operations). One per engine thread.
class Sampler {
 public:
  explicit Sampler(int32_t vocabulary);

  // What sample() would say of greedy parameters, when a device has looked for the largest logit:
  // -1 stands for none.
  static Result<Token> found(Token best);

  // `logits` [vocabulary] is overwritten where `mask` forbids. `mask` is empty, or has bit t set
  // for every allowed token t (vocabulary/32 words, rounded up). `position` is the place in the
  // sequence that the token will take. kInternal when no allowed logit is finite.
  Result<Token> sample(std::span<float> logits, const SamplingParams& params,
                       std::span<const uint32_t> mask, uint32_t position);

 private:
  // A value and the token (or place) it belongs to. Ranks go by value, largest first; the lower
  // index wins a tie.
  struct Ranked {
    float value;
    int32_t index;
  };
  // A list whose memory is there from the start and is never cleared.
  struct RankedList {
    std::vector<Ranked> items;
    size_t count = 0;
    std::span<Ranked> view() noexcept { return std::span(items).first(count); }
    std::span<const Ranked> view() const noexcept { return std::span(items).first(count); }
  };

  template <class Weight>
  Ranked cut(Weight weight, double need);
  void keep_top_k(std::span<const float> logits, int32_t k);
  void keep_nucleus(double total, double p);
  void drop_below(const Ranked& last);
  static void gather(std::span<const float> values, std::span<const float> bounds, float bar,
                     RankedList& out);
  Token draw_all(std::span<const float> logits, float max, const SamplingParams& params, double u);
  Token draw_kept(double u) const;

  std::vector<float> block_max_;   // of the logits, by block
  std::vector<float> weights_;     // [vocabulary]
  std::vector<float> block_sums_;  // of weights_
  RankedList kept_;                // weights of the tokens that remain, by ascending token
  RankedList candidates_;
  std::vector<double> histogram_;  // of cut()
};

}  // namespace o3::engine
