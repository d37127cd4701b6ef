// SPDX-License-Identifier: Apache-2.0
#include "text/pipeline_tokenizer.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "text/byte_alphabet.h"
#include "text/unicode/utf8.h"

namespace o3::text {
namespace {

// Real tokenizers: 12 for Llama 2, 144 for T5.
constexpr double kMostGrowth = 4096;
constexpr double kMostDecodedBytes = 1u << 30;  // of all tokens

// What normalizer and pre-tokenizer make of so many bytes of one text.
double most_bytes(const TokenizerParts& parts, double bytes, bool normalized) {
  if (normalized && parts.normalizer != nullptr) bytes = parts.normalizer->most_bytes(bytes);
  return parts.pre_tokenizer == nullptr ? bytes : bytes * parts.pre_tokenizer->growth();
}

Result<void> check_growth(const TokenizerParts& parts) {
  double growth = most_bytes(parts, 1, true);
  if (growth > kMostGrowth) {
    return unsupported("the tokenizer could make texts " +
                       std::to_string(static_cast<int64_t>(std::min(growth, 1e15))) +
                       " times longer; 4096 is the most that is allowed");
  }
  double bytes = static_cast<double>(parts.vocabulary->text_bytes());
  for (const AddedToken& token : parts.added) {  // they are decoded as they are matched
    if (!token.normalized || parts.normalizer == nullptr) continue;
    bytes += parts.normalizer->most_bytes(static_cast<double>(token.text.size()));
  }
  bytes *= parts.decoder.growth();
  if (bytes > kMostDecodedBytes) {
    return unsupported("the tokenizer's decoder could make its tokens longer than 1 GiB in all");
  }
  return {};
}

}  // namespace

struct PipelineTokenizer::Source {
  std::string_view text;
  Trust trust = Trust::none();
  std::string repaired;  // what `text` views when the input was ill-formed

  // Replaces ill-formed subparts; a replacement is trusted where all its bytes were.
  void repair() {
    if (is_utf8(text)) return;
    if (trust.everything() || trust.nothing()) {
      repaired = repaired_utf8(text);
    } else {
      repair_ranges();
    }
    text = repaired;
  }

 private:
  void repair_ranges() {
    const Trust before = std::exchange(trust, Trust::none());
    for (size_t at = 0; at < text.size();) {
      const Utf8Unit unit = next_utf8_unit(text.substr(at));
      const size_t begin = repaired.size();
      repaired += unit.well_formed ? text.substr(at, unit.bytes) : kReplacementCharacter;
      if (before.end_of(at, text.size()) >= at + unit.bytes) trust.add(begin, repaired.size());
      at += unit.bytes;
    }
  }
};

struct PipelineTokenizer::Run {
  const Source& source;
  bool plain_specials;
  std::unique_ptr<PieceEncoder> encoder;
  Pieces pieces;
  std::string unmapped;
  BoundedTokens result;
  size_t most;  // tokens wanted

  std::vector<Token>& out() { return result.tokens; }
  // `more` tokens are certain to follow those there are. False: that is too many; the work ends.
  bool has_room_for(size_t more) {
    result.at_least = std::max(result.at_least, result.tokens.size() + more);
    result.fits = result.at_least <= most;
    return result.fits;
  }
  void add(Token token) {
    if (has_room_for(1)) result.tokens.push_back(token);
  }
};

Result<std::unique_ptr<Tokenizer>> PipelineTokenizer::build(TokenizerParts parts) {
  O3_TRY(check_growth(parts));
  // The constructor is private: make_unique() cannot call it.
  return std::unique_ptr<Tokenizer>(new PipelineTokenizer(std::move(parts)));
}

PipelineTokenizer::PipelineTokenizer(TokenizerParts parts) : parts_(std::move(parts)) {
  std::vector<AddedToken> raw;
  std::vector<AddedToken> normalized;
  const auto size = static_cast<size_t>(parts_.vocabulary->size());
  control_.resize(size);
  std::vector<bool> made(size);
  parts_.model->mark_made(made);
  for (AddedToken& token : parts_.added) {
    const auto id = static_cast<size_t>(token.token);
    control_[id] = token.special || !(made[id] || token.free);
    if (token.normalized && parts_.normalizer != nullptr) {
      MarkedText text{token.text, {}};
      parts_.normalizer->apply(text);
      // Of the entries of one token only the one that has its text names it.
      if (token.text == parts_.vocabulary->bytes(token.token)) renamed_[token.token] = text.text;
      token.text = std::move(text.text);
      if (token.text.empty()) continue;
    }
    (token.normalized ? normalized : raw).push_back(std::move(token));
  }
  parts_.added.clear();
  raw_ = AddedTokens(std::move(raw));
  normalized_ = AddedTokens(std::move(normalized));
  const bool bytes_are_pieces = parts_.decoder.is_byte_level() && renamed_.empty() &&
                                parts_.vocabulary->form() == TextForm::kByteAlphabet;
  if (!bytes_are_pieces) decode_pieces();
}

void PipelineTokenizer::decode_pieces() {
  piece_starts_.push_back(0);
  for (Token token = 0; token < parts_.vocabulary->size(); ++token) {
    pieces_ += decoded(token, false);
    piece_starts_.push_back(static_cast<uint32_t>(pieces_.size()));
  }
}

Result<void> PipelineTokenizer::check_length(double bytes) const {
  if (bytes <= static_cast<double>(parts_.max_text_bytes)) return {};
  return Error{Code::kTooLong,
               "the text could take " + std::to_string(static_cast<int64_t>(bytes)) +
                   " bytes on its way to tokens; " + std::to_string(parts_.max_text_bytes) +
                   " are allowed: give it in parts",
               {}};
}

Result<std::vector<Token>> PipelineTokenizer::encode(std::string_view text,
                                                     SpecialTokens specials) const {
  Source source;
  source.text = text;
  if (specials != SpecialTokens::kPlain) source.trust = Trust::all();
  O3_ASSIGN(BoundedTokens all,
            encode_source(source, specials == SpecialTokens::kPlainSpecial, SIZE_MAX));
  return std::move(all.tokens);
}

Result<std::vector<Token>> PipelineTokenizer::encode(std::span<const Segment> segments) const {
  O3_ASSIGN(BoundedTokens all, encode_at_most(segments, SIZE_MAX));
  return std::move(all.tokens);
}

Result<BoundedTokens> PipelineTokenizer::encode_at_most(std::span<const Segment> segments,
                                                        size_t most) const {
  double bytes = 0;
  for (const Segment& segment : segments) bytes += static_cast<double>(segment.text.size());
  O3_TRY(check_length(bytes));
  std::string joined;
  Source source;
  for (const Segment& segment : segments) {
    const size_t begin = joined.size();
    joined += segment.text;
    if (segment.trusted) source.trust.add(begin, joined.size());
  }
  source.text = joined;
  return encode_source(source, false, most);
}

Result<BoundedTokens> PipelineTokenizer::encode_source(Source& source, bool plain_specials,
                                                       size_t most) const {
  O3_TRY(check_length(static_cast<double>(source.text.size())));
  source.repair();
  const std::string_view text = source.text;
  O3_TRY(check_length(static_cast<double>(text.size())));
  Run run{source, plain_specials, parts_.model->encoder(text.size()), {}, {}, {}, most};
  run.out().reserve(std::min(most, text.size() / 4 + 8));
  size_t done = 0;
  while (!raw_.empty() && run.result.fits) {
    const auto match = raw_.find(text, done, source.trust, plain_specials);
    if (!match) break;
    O3_TRY(encode_section(done, match->begin, run));
    if (run.result.fits) run.add(match->token);
    done = match->end;
  }
  if (run.result.fits) O3_TRY(encode_section(done, text.size(), run));
  return std::move(run.result);
}

Result<void> PipelineTokenizer::encode_section(size_t begin, size_t end, Run& run) const {
  if (begin == end) return {};
  const std::string_view section = run.source.text.substr(begin, end - begin);
  const Trust& trust = run.source.trust;
  const bool same = parts_.normalizer == nullptr || parts_.normalizer->keeps(section);
  O3_TRY(check_length(most_bytes(parts_, static_cast<double>(section.size()), !same)));
  const bool at_origin = begin == 0 && (same || begins_origin(section));
  if (normalized_.empty() || trust.everything() || trust.nothing()) {
    MarkedText text;
    if (!same) {
      text.text = section;
      parts_.normalizer->apply(text);
    }
    encode_normalized(same ? section : text.text, trust, at_origin, run);
    return {};
  }
  MarkedText text{std::string(section), std::string(section.size(), '\0')};
  const std::vector<Trust::Range>& ranges = trust.ranges();
  auto range = std::upper_bound(ranges.begin(), ranges.end(), begin,
                                [](size_t at, const Trust::Range& r) { return at < r.end; });
  for (; range != ranges.end() && range->begin < end; ++range) {
    const size_t from = std::max(range->begin, begin);
    std::fill_n(text.marks.begin() + static_cast<std::ptrdiff_t>(from - begin),
                std::min(range->end, end) - from, '\1');
  }
  if (!same) parts_.normalizer->apply(text);
  Trust after = Trust::none();
  for (size_t at = 0; at < text.marks.size(); ++at) {
    if (text.marks[at] != 0) after.add(at, at + 1);
  }
  encode_normalized(text.text, after, at_origin, run);
  return {};
}

void PipelineTokenizer::encode_normalized(std::string_view text, const Trust& trust, bool at_origin,
                                          Run& run) const {
  size_t done = 0;
  while (!normalized_.empty() && run.result.fits) {
    const auto match = normalized_.find(text, done, trust, run.plain_specials);
    if (!match) break;
    encode_plain(text.substr(done, match->begin - done), at_origin && done == 0, run);
    if (run.result.fits) run.add(match->token);
    done = match->end;
  }
  if (run.result.fits) encode_plain(text.substr(done), at_origin && done == 0, run);
}

void PipelineTokenizer::encode_plain(std::string_view text, bool at_origin, Run& run) const {
  if (text.empty()) return;
  Pieces& pieces = run.pieces;
  pieces.text = text;
  pieces.ranges.assign(1, {0, static_cast<uint32_t>(text.size())});
  pieces.at_origin = at_origin;
  pieces.mapped = false;
  if (parts_.pre_tokenizer != nullptr) parts_.pre_tokenizer->apply(pieces);
  for (const Pieces::Range range : pieces.ranges) {
    std::string_view piece = pieces.at(range);
    if (pieces.mapped) {
      run.unmapped.clear();
      O3_CHECK(append_alphabet_bytes(piece, run.unmapped), "only cut since it was mapped");
      piece = run.unmapped;
    }
    // Before the model's work: a piece may be as long as the whole text.
    if (!run.has_room_for(parts_.model->fewest(piece))) return;
    const size_t before = run.out().size();
    run.encoder->encode(piece, run.out());
    const size_t made = run.out().size() - before;
    if (run.out().size() > run.most) run.out().resize(before);
    if (!run.has_room_for(run.out().size() == before ? made : 0)) return;
  }
}

// The first character of the normalized text comes from the first one of the section. (All but that
// one are marked; a character made of several is marked if all of them were.)
bool PipelineTokenizer::begins_origin(std::string_view section) const {
  if (parts_.pre_tokenizer == nullptr || !parts_.pre_tokenizer->asks_origin()) return true;
  MarkedText text{std::string(section), std::string(section.size(), '\1')};
  std::fill_n(text.marks.begin(), next_utf8_unit(section).bytes, '\0');
  parts_.normalizer->apply(text);
  return !text.marks.empty() && text.marks[0] == 0;
}

std::string PipelineTokenizer::decoded(Token token, bool first) const {
  const auto renamed = renamed_.find(token);
  if (renamed != renamed_.end()) return parts_.decoder.piece(renamed->second, first);
  const bool done =
      parts_.decoder.is_byte_level() && parts_.vocabulary->form() == TextForm::kByteAlphabet;
  if (done) return std::string(parts_.vocabulary->bytes(token));
  return parts_.decoder.piece(parts_.vocabulary->written(token), first);
}

bool PipelineTokenizer::hidden(Token token, bool show_control) const noexcept {
  const TokenKind kind = parts_.vocabulary->kind(token);
  return !show_control && (kind == TokenKind::kControl || kind == TokenKind::kUnknown);
}

std::string_view PipelineTokenizer::bytes(Token token, bool show_control) const noexcept {
  if (!parts_.vocabulary->contains(token) || hidden(token, show_control)) return {};
  if (piece_starts_.empty()) return parts_.vocabulary->bytes(token);
  const auto index = static_cast<size_t>(token);
  return std::string_view(pieces_).substr(piece_starts_[index],
                                          piece_starts_[index + 1] - piece_starts_[index]);
}

std::string PipelineTokenizer::join(std::span<const Token> tokens, bool show_control) const {
  if (parts_.decoder.asks_neighbours()) {
    std::vector<std::string> texts;
    for (const Token token : tokens) {
      if (!parts_.vocabulary->contains(token) || hidden(token, show_control)) continue;
      const auto renamed = renamed_.find(token);
      const bool other = renamed != renamed_.end();
      texts.push_back(other ? renamed->second : parts_.vocabulary->written(token));
    }
    return parts_.decoder.join(std::move(texts));
  }
  std::string out;
  bool first = !parts_.decoder.is_positionless();
  for (const Token token : tokens) {
    if (!parts_.vocabulary->contains(token) || hidden(token, show_control)) continue;
    if (first) {
      out += decoded(token, true);
    } else {
      out += bytes(token, show_control);
    }
    first = false;
  }
  parts_.decoder.finish(out);
  return out;
}

}  // namespace o3::text
