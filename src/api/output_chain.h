// SPDX-License-Identifier: Apache-2.0
// What becomes of a choice's tokens, the same for streams and whole answers: tokens -> UTF-8 ->
// stop strings -> text for the renderer. Later stages (reasoning and tool parsers, filters) join
// here. Each stage is incremental, holds back a bounded amount and can be flushed.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/stop_matcher.h"
#include "text/detokenizer.h"

namespace o3::api {

class OutputChain {
 public:
  // The tokenizer must outlive the chain.
  OutputChain(const text::Tokenizer& tokenizer, std::vector<std::string> stops)
      : detokenizer_(tokenizer), stops_(std::move(stops)) {}

  // Appends what the tokens release. Ends early at a stop string; see stopped().
  void push(std::span<const Token> tokens, std::string& out) {
    for (const Token token : tokens) {
      if (stopped()) return;
      ++consumed_;
      text_.clear();
      detokenizer_.push(token, text_);
      stops_.push(text_, out);
    }
  }

  // The sequence has ended: appends what was held back (the tail of an incomplete code point
  // becomes U+FFFD).
  void finish(std::string& out) {
    if (stopped()) return;
    text_.clear();
    detokenizer_.flush(text_);
    if (!stops_.push(text_, out)) stops_.flush(out);
  }

  bool stopped() const noexcept { return stops_.found(); }
  int32_t consumed() const noexcept { return consumed_; }  // tokens, up to the stop string's last

 private:
  text::Detokenizer detokenizer_;
  StopMatcher stops_;
  std::string text_;
  int32_t consumed_ = 0;
};

}  // namespace o3::api
