// SPDX-License-Identifier: Apache-2.0
#include "text/bpe_tokenizer.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "text/unicode/utf8.h"

namespace o3::text {

// Well-formed text; `trusted` are disjoint ranges of it, ascending, never touching.
struct BpeTokenizer::Marked {
  std::string_view text;
  std::vector<Range> trusted;
  std::string repaired;  // what `text` views when the input was ill-formed

  void trust(size_t begin, size_t end) {
    if (begin == end) return;
    if (!trusted.empty() && trusted.back().end == begin) {
      trusted.back().end = end;
    } else {
      trusted.push_back({begin, end});
    }
  }

  // Replaces ill-formed subparts; a replacement is trusted where all its bytes were.
  void repair() {
    if (is_utf8(text)) return;
    const std::vector<Range> before = std::exchange(trusted, {});
    auto range = before.begin();
    repaired.reserve(text.size() + 16);
    for (size_t at = 0; at < text.size();) {
      const Utf8Unit unit = next_utf8_unit(text.substr(at));
      const size_t begin = repaired.size();
      repaired += unit.well_formed ? text.substr(at, unit.bytes) : kReplacementCharacter;
      while (range != before.end() && range->end <= at) ++range;
      const bool inside =
          range != before.end() && range->begin <= at && at + unit.bytes <= range->end;
      if (inside) trust(begin, repaired.size());
      at += unit.bytes;
    }
    text = repaired;
  }
};

struct BpeTokenizer::Encoding {
  BpeMerger merger;
  std::vector<Token> symbols;  // of one piece
  BoundedTokens result;
  size_t most;

  // `more` tokens are certain to follow those in `result`.
  bool has_room_for(size_t more) {
    result.at_least = result.tokens.size() + more;
    return result.at_least <= most;
  }
};

Result<std::unique_ptr<Tokenizer>> BpeTokenizer::load(const TokenizerSpec& spec) {
  O3_ASSIGN(const FirstPiece first_piece, pretokenizer(spec.pre));
  O3_ASSIGN(Vocabulary vocabulary, Vocabulary::build(spec));
  O3_ASSIGN(MergeTable merges, MergeTable::build(spec.merges, vocabulary));
  if (spec.add_bos && !spec.bos) {
    return invalid("the tokenizer adds a bos token, but none is named",
                   "tokenizer.ggml.bos_token_id");
  }
  return std::unique_ptr<Tokenizer>(std::make_unique<BpeTokenizer>(
      Parts{std::move(vocabulary), std::move(merges), first_piece}, spec));
}

BpeTokenizer::BpeTokenizer(Parts parts, const TokenizerSpec& spec)
    : vocabulary_(std::move(parts.vocabulary)),
      merges_(std::move(parts.merges)),
      added_(vocabulary_),
      first_piece_(parts.first_piece),
      bos_(spec.bos),
      eos_(spec.eos),
      adds_bos_(spec.add_bos) {
  for (size_t byte = 0; byte < byte_tokens_.size(); ++byte) {
    const char c = static_cast<char>(byte);
    byte_tokens_[byte] = vocabulary_.find_ordinary({&c, 1}).value_or(-1);
  }
  for (Token token = 0; token < vocabulary_.size(); ++token) {
    const std::string_view text = vocabulary_.bytes(token);
    if (text.size() > longest_ && vocabulary_.find_ordinary(text)) longest_ = text.size();
  }
}

std::vector<Token> BpeTokenizer::encode(std::string_view text, SpecialTokens specials) const {
  Marked marked;
  marked.text = text;
  if (specials == SpecialTokens::kParse) marked.trust(0, text.size());
  marked.repair();
  return encode_marked(marked, SIZE_MAX).tokens;
}

std::vector<Token> BpeTokenizer::encode(std::span<const Segment> segments) const {
  return encode_at_most(segments, SIZE_MAX).tokens;
}

BoundedTokens BpeTokenizer::encode_at_most(std::span<const Segment> segments, size_t most) const {
  std::string joined;
  Marked marked;
  for (const Segment& segment : segments) {
    const size_t begin = joined.size();
    joined += segment.text;
    if (segment.trusted) marked.trust(begin, joined.size());
  }
  marked.text = joined;
  marked.repair();
  return encode_marked(marked, most);
}

BoundedTokens BpeTokenizer::encode_marked(const Marked& marked, size_t most) const {
  Encoding encoding{.merger = BpeMerger(merges_), .symbols = {}, .result = {}, .most = most};
  encoding.result.tokens.reserve(std::min(most, marked.text.size() / 4 + 8));
  encoding.result.fits = encode_trusted(marked, encoding);
  return std::move(encoding.result);
}

bool BpeTokenizer::encode_trusted(const Marked& marked, Encoding& encoding) const {
  size_t ordinary = 0;  // where the text not yet encoded begins
  for (const Range& range : marked.trusted) {
    const std::string_view until = marked.text.substr(0, range.end);
    size_t at = added_.next_candidate(until, range.begin);
    while (at < range.end) {
      const AddedTokens::Match match = added_.longest(until.substr(at));
      if (match.bytes == 0) {
        at = added_.next_candidate(until, at + 1);
        continue;
      }
      if (!encode_ordinary(marked.text.substr(ordinary, at - ordinary), encoding)) return false;
      if (!encoding.has_room_for(1)) return false;
      encoding.result.tokens.push_back(match.token);
      ordinary = at + match.bytes;
      at = added_.next_candidate(until, ordinary);
    }
  }
  return encode_ordinary(marked.text.substr(ordinary), encoding);
}

bool BpeTokenizer::encode_ordinary(std::string_view text, Encoding& encoding) const {
  std::vector<Token>& symbols = encoding.symbols;
  std::vector<Token>& out = encoding.result.tokens;
  while (!text.empty()) {
    const size_t length = first_piece_(text);
    symbols.clear();
    for (const char c : text.substr(0, length)) {
      const Token token = byte_tokens_[static_cast<uint8_t>(c)];
      if (token >= 0) symbols.push_back(token);
    }
    // Before the merges, which are the work: a piece may be as long as the whole text.
    if (!encoding.has_room_for((symbols.size() + longest_ - 1) / longest_)) return false;
    encoding.merger.merge(symbols);
    if (!encoding.has_room_for(symbols.size())) return false;
    out.insert(out.end(), symbols.begin(), symbols.end());
    text.remove_prefix(length);
  }
  return true;
}

std::string_view BpeTokenizer::bytes(Token token, bool show_control) const noexcept {
  if (!vocabulary_.contains(token)) return {};
  const TokenKind kind = vocabulary_.kind(token);
  const bool hidden = kind == TokenKind::kControl || kind == TokenKind::kUnknown;
  if (hidden && !show_control) return {};
  return vocabulary_.bytes(token);
}

}  // namespace o3::text
