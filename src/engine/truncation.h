// SPDX-License-Identifier: Apache-2.0
// Which tokens of a row remain for the draw: top-k, top-p, min-p, typical. Nothing is sorted; a row
// costs a pass for its maxima, one for its weights, and little beyond.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/request.h"

namespace o3::engine {

// A value and the token it belongs to. Ranks go by value, largest first; the lower id wins a tie.
struct Candidate {
  float value;
  int32_t index;
};

// Holds the scratch memory. Results depend on the arguments only, and are the same on every machine
// (fixed order of sums, no fused operations). One per engine thread.
class Truncation {
 public:
  static constexpr size_t kBlock = 64;  // tokens of one block

  explicit Truncation(int32_t vocabulary);

  // The largest logit (NaN never is; -inf when there is none). Must precede what follows.
  float scan(std::span<const float> logits);
  Token lowest_of(std::span<const float> logits, float max) const;

  // Weights e^((logit - max) / temperature) of the tokens that remain; temperature > 0, max finite.
  void run(std::span<const float> logits, float max, const SamplingParams& params);

  // Nothing was cut off: weights() has all tokens, block_sums() its sums by block; kept() is not
  // set. Otherwise kept() has the weights of those that remain, by ascending id.
  bool everything() const noexcept { return everything_; }
  std::span<const float> weights() const noexcept { return weights_; }
  std::span<const float> block_sums() const noexcept { return block_sums_; }
  std::span<const Candidate> kept() const noexcept { return kept_.view(); }

 private:
  // A list whose memory is there from the start and is never cleared.
  struct List {
    std::vector<Candidate> items;
    size_t count = 0;
    std::span<Candidate> view() noexcept { return std::span(items).first(count); }
    std::span<const Candidate> view() const noexcept { return std::span(items).first(count); }
  };

  double weigh_all(std::span<const float> logits, float max, float temperature);
  double weigh_kept(float max, float temperature);
  void keep_top_k(std::span<const float> logits, int32_t k);
  void keep_nucleus(double total, double p);
  void keep_above(float bar);
  void keep_typical(std::span<const float> logits, float max, const SamplingParams& params);
  template <class Weight>
  Candidate cut(Weight weight, double need);
  void drop_below(const Candidate& last);
  static void gather(std::span<const float> values, std::span<const float> bounds, float bar,
                     List& out);

  bool everything_ = false;
  std::vector<float> block_max_;   // of the logits, by block
  std::vector<float> weights_;     // by token
  std::vector<float> block_sums_;  // of weights_
  List kept_;
  List candidates_;
  std::vector<double> histogram_;  // of cut()
};

}  // namespace o3::engine
