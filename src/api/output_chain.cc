// SPDX-License-Identifier: Apache-2.0
#include "api/output_chain.h"

#include <algorithm>
#include <utility>

namespace o3::api {

OutputChain::OutputChain(const text::Tokenizer& tokenizer, Options options)
    : detokenizer_(tokenizer, options.show_control),
      stops_(std::move(options.stops), options.include_stop),
      min_tokens_(options.min_tokens) {}

void OutputChain::push(std::span<const Token> tokens, std::string& out,
                       std::span<engine::TokenLogprobs> scores) {
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (stopped()) return;
    ++consumed_;
    text_.clear();
    const size_t begin = made_;
    detokenizer_.push(tokens[i], text_);
    made_ += text_.size();
    if (!scores.empty()) {
      // With the first byte of a code point that is not complete, its text is still to come.
      const size_t end = made_ + (detokenizer_.incomplete() ? 1 : 0);
      waiting_.push_back({{tokens[i], std::move(scores[i])}, begin, end});
    }
    release(text_, out);
  }
}

void OutputChain::release(std::string_view text, std::string& out) {
  const size_t before = out.size();
  if (consumed_ <= min_tokens_) {
    out.append(text);
  } else {
    stops_.push(text, out);
  }
  released_ += out.size() - before;
}

void OutputChain::finish(std::string& out) {
  finished_ = true;
  if (stopped()) return;
  text_.clear();
  detokenizer_.flush(text_);
  made_ += text_.size();
  release(text_, out);
  if (stopped()) return;
  const size_t before = out.size();
  stops_.flush(out);
  released_ += out.size() - before;
}

std::vector<ScoredToken> OutputChain::take_scored() {
  std::vector<ScoredToken> taken;
  const bool ended = finished_ || stopped();
  const auto held = std::ranges::find_if(waiting_, [&](const Waiting& one) {
    // At a stop string, what begins before it belongs to the text.
    return stopped() ? one.begin >= released_ : !ended && one.end > released_;
  });
  for (auto it = waiting_.begin(); it != held; ++it) taken.push_back(std::move(it->scored));
  waiting_.erase(waiting_.begin(), ended ? waiting_.end() : held);
  return taken;
}

}  // namespace o3::api
