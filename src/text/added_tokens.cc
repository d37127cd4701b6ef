// SPDX-License-Identifier: Apache-2.0
#include "text/added_tokens.h"

#include <algorithm>
#include <utility>

#include "text/unicode/category.h"
#include "text/unicode/utf8.h"
#include "text/unicode/word.h"

namespace o3::text {
namespace {

// The joiners count as parts of words here (\w of the reference's other regular expressions).
bool in_word(char32_t code) noexcept {
  return is_word(code) || code == 0x200C || code == 0x200D;
}

size_t last_char(std::string_view text) noexcept {  // where it begins; text is not empty
  size_t at = text.size() - 1;
  while (at > 0 && (static_cast<uint8_t>(text[at]) & 0xC0) == 0x80) --at;
  return at;
}

bool ends_with_word(std::string_view text) noexcept {
  return !text.empty() && in_word(next_utf8_unit(text.substr(last_char(text))).code);
}
bool starts_with_word(std::string_view text) noexcept {
  return !text.empty() && in_word(next_utf8_unit(text).code);
}

size_t space_before(std::string_view text, size_t at, size_t from) noexcept {
  while (at > from) {
    const size_t begin = last_char(text.substr(0, at));
    if (!is_white_space(next_utf8_unit(text.substr(begin)).code)) break;
    at = begin;
  }
  return std::max(at, from);
}
size_t space_behind(std::string_view text, size_t at) noexcept {
  while (at < text.size()) {
    const Utf8Unit unit = next_utf8_unit(text.substr(at));
    if (!is_white_space(unit.code)) break;
    at += unit.bytes;
  }
  return at;
}

}  // namespace

size_t Trust::end_of(size_t at, size_t text_size) const noexcept {
  if (all_) return text_size;
  const auto range = std::upper_bound(ranges_.begin(), ranges_.end(), at,
                                      [](size_t a, const Range& r) { return a < r.end; });
  return range != ranges_.end() && range->begin <= at ? range->end : at;
}

AddedTokens::AddedTokens(std::vector<AddedToken> tokens) : tokens_(std::move(tokens)) {
  for (size_t i = 0; i < tokens_.size(); ++i) {
    trie_.insert(tokens_[i].text, static_cast<Token>(i));
    begins_[static_cast<uint8_t>(tokens_[i].text[0])] = true;
  }
}

AddedTokens::Hit AddedTokens::longest(std::string_view text, size_t at,
                                      size_t trusted_end) const noexcept {
  Hit best;
  uint32_t node = ByteTrie::kRoot;
  for (size_t end = at; end < text.size();) {
    node = trie_.step(node, text[end++]);
    if (node == ByteTrie::kNone) break;
    const Token value = trie_.value(node);
    if (value < 0) continue;
    const AddedToken& token = tokens_[static_cast<size_t>(value)];
    if (end <= trusted_end || token.free) best = {&token, end - at};
  }
  return best;
}

std::optional<AddedTokens::Match> AddedTokens::find(std::string_view text, size_t from,
                                                    const Trust& trust, bool plain_specials) const {
  for (size_t at = from; at < text.size();) {
    if (!begins_[static_cast<uint8_t>(text[at])]) {
      ++at;
      continue;
    }
    const Hit hit = longest(text, at, trust.end_of(at, text.size()));
    if (hit.token == nullptr) {
      ++at;
      continue;
    }
    size_t end = at + hit.bytes;
    const bool inside_word = hit.token->single_word && (ends_with_word(text.substr(0, at)) ||
                                                        starts_with_word(text.substr(end)));
    if (inside_word || (plain_specials && hit.token->special)) {
      at = end;
      continue;
    }
    const size_t begin = hit.token->lstrip ? space_before(text, at, from) : at;
    if (hit.token->rstrip) end = space_behind(text, end);
    return Match{begin, end, hit.token->token};
  }
  return std::nullopt;
}

}  // namespace o3::text
