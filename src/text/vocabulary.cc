// SPDX-License-Identifier: Apache-2.0
#include "text/vocabulary.h"

#include <bit>
#include <functional>

#include "text/byte_alphabet.h"
#include "text/unicode/utf8.h"

namespace o3::text {
namespace {

constexpr size_t kMaxTokens = 1u << 22;
constexpr size_t kMaxArenaBytes = 1u << 30;
constexpr size_t kMaxAddedBytes = 1024;  // bounds the work per character of matching their texts
constexpr Token kFree = -1;

std::string token_text(Token token) {
  return "token " + std::to_string(token);
}

}  // namespace

Result<Vocabulary> Vocabulary::build(const TokenizerSpec& spec) {
  constexpr const char* kTokensKey = "tokenizer.ggml.tokens";
  if (spec.tokens.empty() || spec.tokens.size() > kMaxTokens) {
    return invalid("the vocabulary has " + std::to_string(spec.tokens.size()) + " tokens; 1 to " +
                       std::to_string(kMaxTokens) + " are allowed",
                   kTokensKey);
  }
  size_t total = 0;
  for (const std::string_view token : spec.tokens) total += token.size();
  if (total > kMaxArenaBytes) return invalid("the vocabulary is larger than 1 GiB", kTokensKey);

  Vocabulary vocabulary;
  O3_TRY(vocabulary.set_kinds(spec));
  vocabulary.fill_arena(spec);
  O3_TRY(vocabulary.index_tokens());
  return vocabulary;
}

Result<void> Vocabulary::set_kinds(const TokenizerSpec& spec) {
  constexpr const char* kKey = "tokenizer.ggml.token_type";
  kinds_.assign(spec.tokens.size(), TokenKind::kNormal);
  for (const auto& id : {spec.bos, spec.eos}) {
    if (!id) continue;
    if (!contains(*id)) {
      return invalid("the bos or eos token is " + std::to_string(*id) +
                         ", but the vocabulary has " + std::to_string(size()) + " tokens",
                     "tokenizer.ggml.bos_token_id");
    }
    kinds_[static_cast<size_t>(*id)] = TokenKind::kControl;
  }
  if (spec.kinds.empty()) return {};
  if (spec.kinds.size() != spec.tokens.size()) {
    return invalid("there are " + std::to_string(spec.kinds.size()) + " token types for " +
                       std::to_string(spec.tokens.size()) + " tokens",
                   kKey);
  }
  for (size_t i = 0; i < spec.kinds.size(); ++i) {
    const int32_t kind = spec.kinds[i];
    if (kind < static_cast<int32_t>(TokenKind::kNormal) ||
        kind > static_cast<int32_t>(TokenKind::kByte)) {
      return invalid(token_text(static_cast<Token>(i)) + " has the unknown type " +
                         std::to_string(kind) + "; 1 to 6 are known",
                     kKey);
    }
    kinds_[i] = static_cast<TokenKind>(kind);
  }
  return {};
}

void Vocabulary::fill_arena(const TokenizerSpec& spec) {
  starts_.reserve(spec.tokens.size() + 1);
  alphabetic_.resize(spec.tokens.size());
  starts_.push_back(0);
  for (size_t i = 0; i < spec.tokens.size(); ++i) {
    const bool ordinary = kinds_[i] == TokenKind::kNormal;
    alphabetic_[i] = ordinary && append_alphabet_bytes(spec.tokens[i], arena_);
    if (!alphabetic_[i]) arena_ += spec.tokens[i];
    starts_.push_back(static_cast<uint32_t>(arena_.size()));
  }
}

size_t Vocabulary::slot_of(std::string_view wanted) const noexcept {
  const size_t mask = slots_.size() - 1;
  size_t slot = std::hash<std::string_view>{}(wanted)&mask;
  while (slots_[slot] != kFree && bytes(slots_[slot]) != wanted) slot = (slot + 1) & mask;
  return slot;
}

Result<void> Vocabulary::index_tokens() {
  slots_.assign(std::bit_ceil(kinds_.size() * 2), kFree);
  for (Token token = 0; token < size(); ++token) {
    if (kind(token) != TokenKind::kNormal) continue;
    const size_t slot = slot_of(bytes(token));
    if (slots_[slot] != kFree) {
      return invalid("tokens " + std::to_string(slots_[slot]) + " and " + std::to_string(token) +
                         " have the same text",
                     "tokenizer.ggml.tokens");
    }
    slots_[slot] = token;
  }
  for (Token token = 0; token < size(); ++token) {
    if (kind(token) == TokenKind::kNormal) continue;
    const std::string_view text = bytes(token);
    if (is_added(token) && (text.empty() || text.size() > kMaxAddedBytes || !is_utf8(text))) {
      return invalid(token_text(token) + " is a control token whose text is empty, longer than " +
                         std::to_string(kMaxAddedBytes) + " bytes or not UTF-8",
                     "tokenizer.ggml.tokens");
    }
    const size_t slot = slot_of(text);
    if (slots_[slot] == kFree) slots_[slot] = token;
  }
  return {};
}

std::optional<Token> Vocabulary::find(std::string_view wanted) const noexcept {
  const Token token = slots_[slot_of(wanted)];
  if (token == kFree) return std::nullopt;
  return token;
}

std::optional<Token> Vocabulary::find_ordinary(std::string_view wanted) const noexcept {
  const std::optional<Token> token = find(wanted);
  if (!token || !alphabetic_[static_cast<size_t>(*token)]) return std::nullopt;
  return token;
}

}  // namespace o3::text
