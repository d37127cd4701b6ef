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
#include "engine/request.h"
#include "text/detokenizer.h"

namespace o3::api {

// A token of the text with its log probabilities.
struct ScoredToken {
  Token token = 0;
  engine::TokenLogprobs scores{};
};

class OutputChain {
 public:
  struct Options {
    std::vector<std::string> stops{};
    bool include_stop = false;  // the text ends behind the stop string
    bool show_control = false;  // the texts of control tokens are part of the text
    int32_t min_tokens = 0;     // no stop string begins in the text of so many tokens
  };

  // The tokenizer must outlive the chain.
  OutputChain(const text::Tokenizer& tokenizer, Options options);

  // Appends what the tokens release. Ends early at a stop string; see stopped(). `scores`: empty,
  // or one for each token.
  void push(std::span<const Token> tokens, std::string& out,
            std::span<engine::TokenLogprobs> scores = {});

  // The sequence has ended: appends what was held back (the tail of an incomplete code point
  // becomes U+FFFD).
  void finish(std::string& out);

  // The scored tokens whose text was released since the last call; they are the tokens of the text:
  // one that begins in a stop string is dropped with it.
  std::vector<ScoredToken> take_scored();

  bool stopped() const noexcept { return stops_.found(); }
  const std::string& stop() const noexcept { return stops_.stop(); }
  int32_t consumed() const noexcept { return consumed_; }  // tokens, up to the stop string's last

 private:
  struct Waiting {
    ScoredToken scored;
    size_t begin;  // in the text, counted in bytes
    size_t end;    // released with the text up to here
  };
  void release(std::string_view text, std::string& out);

  text::Detokenizer detokenizer_;
  StopMatcher stops_;
  int32_t min_tokens_;
  std::string text_;
  std::vector<Waiting> waiting_;
  size_t made_ = 0;      // bytes of text, stop strings included
  size_t released_ = 0;  // of those, appended to `out`
  int32_t consumed_ = 0;
  bool finished_ = false;
};

}  // namespace o3::api
