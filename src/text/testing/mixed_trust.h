// SPDX-License-Identifier: Apache-2.0
// For tests and fuzzers: text marked as a user's never becomes a control token, whatever stands
// beside it.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "text/tokenizer.h"

namespace o3::text {

inline bool makes_control(const Tokenizer& tokenizer, std::span<const Token> tokens) {
  return std::any_of(tokens.begin(), tokens.end(), [&](Token token) {
    return tokenizer.is_control(token) && token != tokenizer.unknown();
  });
}

// Encodes `text` as a user's, in pieces between trusted characters that are no control token.
inline void check_mixed_trust(const Tokenizer& tokenizer, std::string_view text) {
  const Segment mark{"\xEE\x80\x80", true};  // for private use: no rule of Unicode's touches it
  const auto alone = tokenizer.encode(std::vector<Segment>{mark});
  if (!alone.ok() || makes_control(tokenizer, *alone)) return;
  for (const size_t pieces : {1, 2, 7}) {
    std::vector<Segment> between;
    std::vector<Segment> apart;
    const size_t bytes = text.size() / pieces + 1;
    for (size_t at = 0; at < text.size(); at += bytes) {
      apart.push_back({std::string(text.substr(at, bytes)), false});
      between.push_back(mark);
      between.push_back(apart.back());
    }
    between.push_back(mark);
    const auto mixed = tokenizer.encode(between);
    O3_CHECK(!mixed.ok() || !makes_control(tokenizer, *mixed), "a user's text is no control token");
    const auto whole = tokenizer.encode(text, SpecialTokens::kPlain);
    const auto joined = tokenizer.encode(apart);
    O3_CHECK(whole.ok() == joined.ok(), "segments are one text");
    O3_CHECK(!whole.ok() || *whole == *joined, "segments are one text");
  }
}

}  // namespace o3::text
