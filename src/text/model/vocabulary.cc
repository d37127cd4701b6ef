// SPDX-License-Identifier: Apache-2.0
#include "text/model/vocabulary.h"

#include <array>
#include <bit>
#include <functional>

#include "text/byte_alphabet.h"
#include "text/unicode/utf8.h"

namespace o3::text {
namespace {

constexpr size_t kMaxTokens = 1u << 22;
constexpr size_t kMaxArenaBytes = 1u << 30;
constexpr const char* kTokens = "tokenizer.ggml.tokens";

uint32_t hash_of(std::string_view bytes) noexcept {
  const size_t hash = std::hash<std::string_view>{}(bytes);
  return static_cast<uint32_t>(hash ^ hash >> 32);
}

}  // namespace

Result<Vocabulary> Vocabulary::build(std::span<const std::string_view> texts,
                                     std::span<const TokenKind> kinds, TextForm form, Alike alike) {
  if (texts.empty() || texts.size() > kMaxTokens) {
    return invalid("the vocabulary has " + std::to_string(texts.size()) + " tokens; 1 to " +
                       std::to_string(kMaxTokens) + " are allowed",
                   kTokens);
  }
  Vocabulary vocabulary;
  vocabulary.form_ = form;
  vocabulary.kinds_.assign(kinds.begin(), kinds.end());
  O3_TRY(vocabulary.fill(texts));
  O3_TRY(vocabulary.index_tokens(alike));
  return vocabulary;
}

Result<void> Vocabulary::fill(std::span<const std::string_view> texts) {
  size_t total = 0;
  for (const std::string_view text : texts) total += text.size();
  if (total > kMaxArenaBytes) return invalid("the vocabulary is larger than 1 GiB", kTokens);
  arena_.reserve(total);
  starts_.reserve(texts.size() + 1);
  ordinary_.resize(texts.size());
  starts_.push_back(0);
  for (size_t i = 0; i < texts.size(); ++i) {
    const bool made = kinds_[i] == TokenKind::kNormal || kinds_[i] == TokenKind::kUserDefined;
    if (form_ == TextForm::kPlain) {
      arena_ += texts[i];
      ordinary_[i] = made && !texts[i].empty();
    } else {
      ordinary_[i] = made && append_alphabet_bytes(texts[i], arena_);
      if (!ordinary_[i]) arena_ += texts[i];
    }
    starts_.push_back(static_cast<uint32_t>(arena_.size()));
  }
  return {};
}

std::string Vocabulary::written(Token token) const {
  const std::string_view text = bytes(token);
  if (form_ == TextForm::kPlain || !ordinary_[static_cast<size_t>(token)]) return std::string(text);
  std::string out;
  for (const char c : text) append_utf8(alphabet_character(static_cast<uint8_t>(c)), out);
  return out;
}

size_t Vocabulary::slot_of(std::string_view wanted, uint32_t hash) const noexcept {
  const size_t mask = slots_.size() - 1;
  size_t slot = hash & mask;
  while (slots_[slot].token >= 0 &&
         (slots_[slot].hash != hash || bytes(slots_[slot].token) != wanted)) {
    slot = (slot + 1) & mask;
  }
  return slot;
}

Result<void> Vocabulary::index_tokens(Alike alike) {
  slots_.assign(std::bit_ceil(kinds_.size() * 2), Slot{});
  const auto take = [this](Token token) {
    const std::string_view text = bytes(token);
    const uint32_t hash = hash_of(text);
    const size_t slot = slot_of(text, hash);
    if (slots_[slot].token >= 0) return slots_[slot].token;
    slots_[slot] = {token, hash};
    return token;
  };
  for (Token token = 0; token < size(); ++token) {
    if (kind(token) != TokenKind::kNormal || !ordinary_[static_cast<size_t>(token)]) continue;
    if (const Token before = take(token); before != token) {
      if (alike == Alike::kFirstCounts) continue;
      return invalid("tokens " + std::to_string(before) + " and " + std::to_string(token) +
                         " have the same text",
                     kTokens);
    }
  }
  for (Token token = 0; token < size(); ++token) {
    if (kind(token) != TokenKind::kAbsent) take(token);  // where no ordinary token is
  }
  return {};
}

std::optional<Token> Vocabulary::find(std::string_view wanted) const noexcept {
  const Token token = slots_[slot_of(wanted, hash_of(wanted))].token;
  if (token < 0) return std::nullopt;
  return token;
}

std::optional<Token> Vocabulary::find_ordinary(std::string_view wanted) const noexcept {
  const std::optional<Token> token = find(wanted);
  if (!token || !ordinary_[static_cast<size_t>(*token)]) return std::nullopt;
  return token;
}

std::vector<Token> Vocabulary::byte_tokens() const {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::vector<Token> out;
  bool any = false;
  for (size_t byte = 0; byte < 256; ++byte) {
    const std::array<char, 6> text = {'<', '0', 'x', kDigits[byte >> 4], kDigits[byte & 15], '>'};
    const std::optional<Token> token = find({text.data(), text.size()});
    out.push_back(token.value_or(-1));
    any = any || token.has_value();
  }
  if (!any) out.clear();
  return out;
}

}  // namespace o3::text
