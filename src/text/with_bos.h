// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>
#include <vector>

#include "text/tokenizer.h"

namespace o3::text {

// A prompt's tokens with exactly one BOS in front where the tokenizer adds one, whether or not the
// template wrote it already.
inline std::vector<Token> with_bos(const Tokenizer& tokenizer, std::vector<Token> tokens) {
  const auto bos = tokenizer.bos();
  const bool present = bos.has_value() && !tokens.empty() && tokens.front() == *bos;
  if (tokenizer.adds_bos() && bos.has_value() && !present) tokens.insert(tokens.begin(), *bos);
  return tokens;
}

}  // namespace o3::text
