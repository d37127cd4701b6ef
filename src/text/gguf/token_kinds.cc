// SPDX-License-Identifier: Apache-2.0
#include "text/gguf/token_kinds.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace o3::text {
namespace {

constexpr const char* kKindsKey = "tokenizer.ggml.token_type";

bool in_range(const TokenizerSpec& spec, const std::optional<Token>& token) {
  return !token || (*token >= 0 && static_cast<size_t>(*token) < spec.tokens.size());
}

// Texts that nobody writes but to end a turn or a document. Converters of fine-tuned models marked
// some as ordinary: then a user's text could end the turn. ("</s>" is an HTML tag too: it counts
// where the file names it as an end.)
constexpr std::array<std::string_view, 5> kEndTexts = {
    "<|im_end|>", "<|endoftext|>", "<|eot_id|>", "<|end_of_text|>", "<end_of_turn>",
};

// A merge makes it: then it is ordinary text of this vocabulary.
bool is_merged(const TokenizerSpec& spec, std::string_view text) {
  return std::any_of(spec.merges.begin(), spec.merges.end(), [text](std::string_view merge) {
    const size_t space = merge.find(' ', 1);
    return merge.size() == text.size() + 1 && space != std::string_view::npos &&
           text.starts_with(merge.substr(0, space)) && text.ends_with(merge.substr(space + 1));
  });
}

// Whatever the file says about their kinds.
void mark_ends(const TokenizerSpec& spec, std::vector<TokenKind>& kinds) {
  for (const auto& id : {spec.bos, spec.eos}) {
    if (id) kinds[static_cast<size_t>(*id)] = TokenKind::kControl;
  }
  for (const Token id : spec.ends) kinds[static_cast<size_t>(id)] = TokenKind::kControl;
  for (size_t i = 0; i < kinds.size(); ++i) {
    const std::string_view text = spec.tokens[i];
    const bool ends = text.starts_with('<') && text.ends_with('>') &&
                      std::find(kEndTexts.begin(), kEndTexts.end(), text) != kEndTexts.end();
    if (ends && kinds[i] != TokenKind::kControl && !is_merged(spec, text)) {
      kinds[i] = TokenKind::kControl;
    }
  }
}

}  // namespace

Result<std::vector<TokenKind>> token_kinds(const TokenizerSpec& spec) {
  const bool ends = std::all_of(spec.ends.begin(), spec.ends.end(),
                                [&](Token end) { return in_range(spec, end); });
  if (!in_range(spec, spec.bos) || !in_range(spec, spec.eos) || !in_range(spec, spec.unknown) ||
      !ends) {
    return invalid("the bos or eos or eot or unknown token is outside the vocabulary of " +
                       std::to_string(spec.tokens.size()) + " tokens",
                   "tokenizer.ggml.bos_token_id");
  }
  std::vector<TokenKind> kinds(spec.tokens.size(), TokenKind::kNormal);
  if (spec.kinds.empty()) {
    mark_ends(spec, kinds);
    return kinds;
  }
  if (spec.kinds.size() != spec.tokens.size()) {
    return invalid("there are " + std::to_string(spec.kinds.size()) + " token types for " +
                       std::to_string(spec.tokens.size()) + " tokens",
                   kKindsKey);
  }
  for (size_t i = 0; i < spec.kinds.size(); ++i) {
    const int32_t kind = spec.kinds[i];
    if (kind < static_cast<int32_t>(TokenKind::kNormal) ||
        kind > static_cast<int32_t>(TokenKind::kByte)) {
      return invalid("token " + std::to_string(i) + " has the unknown type " +
                         std::to_string(kind) + "; 1 to 6 are known",
                     kKindsKey);
    }
    kinds[i] = static_cast<TokenKind>(kind);
  }
  mark_ends(spec, kinds);
  return kinds;
}

}  // namespace o3::text
