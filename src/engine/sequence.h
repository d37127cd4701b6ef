// SPDX-License-Identifier: Apache-2.0
// A request on its way through an instance. Engine thread only.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "cache/block_pool.h"
#include "cache/prefix_index.h"
#include "engine/logit_edits.h"
#include "engine/request.h"
#include "text/token_constraint.h"

namespace o3::engine {

// Made at submit, waiting until a plan admits it, running until it retires or is preempted, which
// makes it wait again with its tokens and without its pages; released (Finish made) only when
// retiring && inflight == 0.
struct Sequence {
  Sequence(std::shared_ptr<const Request> its_request, std::shared_ptr<DeltaSink> its_sink)
      : request(std::move(its_request)), sink(std::move(its_sink)) {}

  const Generate& work() const { return *std::get_if<Generate>(&request->work); }
  int32_t prompt_tokens() const { return static_cast<int32_t>(work().prompt.size()); }
  // Known tokens: the prompt and what was sampled.
  int32_t length() const { return prompt_tokens() + static_cast<int32_t>(sampled.size()); }
  // Known tokens whose K/V is not written yet; never 0 for a live sequence.
  int32_t pending() const { return length() - filled; }
  bool decoding() const { return !sampled.empty() && pending() == 1; }
  // Of its next `rows` rows, those whose logits tell the log probability of a prompt token that the
  // sink does not have yet; they are the last before the one that is sampled.
  int32_t scored_rows(int32_t rows) const {
    if (!work().prompt_logprobs) return 0;
    const int32_t from = std::max(filled, prompt_scored);
    return std::max(0, std::min(filled + rows, prompt_tokens() - 1) - from);
  }
  Token token(int32_t position) const {
    const int32_t prompt = prompt_tokens();
    return position < prompt ? work().prompt[static_cast<size_t>(position)]
                             : sampled[static_cast<size_t>(position - prompt)];
  }

  std::shared_ptr<const Request> request;
  std::shared_ptr<DeltaSink> sink;
  uint64_t arrival = 0;  // order of enqueue() over all classes

  bool running = false;                   // admitted
  std::vector<cache::BlockLease> tables;  // one per KV group, pages in logical order
  cache::PrefixNode* prefix = nullptr;    // the last unit of its tables that is shared (and pinned)
  int32_t prefix_tokens = 0;              // tokens of those units
  int64_t charge = 0;                     // pages beyond them promised to it while it runs
  int32_t room = 0;                       // tokens that prefix and charge hold, while it runs
  int32_t filled = 0;                     // tokens whose K/V is in the cache
  int32_t computed = 0;                   // the most `filled` ever was; what is below is recomputed
  std::optional<int32_t> cached;          // of the prompt, found in the cache when first admitted
  int32_t inflight = 0;                   // committed steps that have not come back

  std::vector<Token> sampled;                  // a stop token included
  std::vector<Token> undelivered;              // of those, what the sink is to get after this step
  std::vector<TokenLogprobs> logprobs;         // of undelivered, if asked for
  std::vector<TokenLogprobs> prompt_logprobs;  // what the sink is to get after this step
  int32_t prompt_scored = 0;                   // prompt logprobs taken so far
  TokenHistory history;                        // with penalties only
  std::unique_ptr<text::TokenConstraint> constraint;
  std::vector<uint32_t> mask;  // vocabulary bits, with a constraint only

  bool retiring = false;
  Outcome outcome = Outcome::kStop;
  std::optional<Error> error;
};

}  // namespace o3::engine
