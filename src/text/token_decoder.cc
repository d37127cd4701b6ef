// SPDX-License-Identifier: Apache-2.0
#include "text/token_decoder.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/hex.h"
#include "text/byte_alphabet.h"

namespace o3::text {
namespace {

using Step = TokenDecoder::Step;
using Kind = TokenDecoder::Step::Kind;

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  if (from.empty()) return;
  size_t at = text.find(from);
  if (at == std::string::npos) return;
  std::string out;
  size_t done = 0;
  for (; at != std::string::npos; at = text.find(from, done)) {
    out.append(text, done, at - done);
    out += to;
    done = at + from.size();
  }
  out.append(text, done);
  text = std::move(out);
}

void replace_matches(std::string& text, const Regex& regex, std::string_view to) {
  std::string out;
  RegexScanner scanner(regex, text);
  size_t done = 0;
  for (auto m = scanner.next(); m.begin != RegexScanner::kNone; m = scanner.next()) {
    out.append(text, done, m.begin - done);
    out += to;
    done = m.end;
  }
  out.append(text, done);
  text = std::move(out);
}

void strip(std::string& text, const Step& step) {
  if (step.a.empty()) return;
  std::string_view rest = text;
  for (size_t i = 0; i < step.left && rest.starts_with(step.a); ++i) {
    rest.remove_prefix(step.a.size());
  }
  for (size_t i = 0; i < step.right && rest.ends_with(step.a); ++i) {
    rest.remove_suffix(step.a.size());
  }
  text = std::string(rest);
}

void clean_up(std::string& text) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 11> kRules = {{
      {" .", "."},
      {" ?", "?"},
      {" !", "!"},
      {" ,", ","},
      {" ' ", "'"},
      {" n't", "n't"},
      {" 'm", "'m"},
      {" do not", " don't"},
      {" 's", "'s"},
      {" 've", "'ve"},
      {" 're", "'re"},
  }};
  for (const auto& [from, to] : kRules) replace_all(text, from, to);
}

void byte_fallback(std::string& text) {
  if (text.size() != 6 || !text.starts_with("<0x") || text[5] != '>') return;
  const int high = hex_digit(text[3]);
  const int low = hex_digit(text[4]);
  if (high >= 0 && low >= 0) text = static_cast<char>(high << 4 | low);
}

void byte_level(std::string& text) {
  std::string bytes;
  if (append_alphabet_bytes(text, bytes)) text = std::move(bytes);
}

void ctc(std::string& text, const Step& step) {
  replace_all(text, step.a, "");
  if (!step.flag) return;
  clean_up(text);
  replace_all(text, step.b, " ");
}

void apply(const Step& step, std::string& text, bool first, bool last) {
  switch (step.kind) {
    case Kind::kByteLevel:
      return byte_level(text);
    case Kind::kByteFallback:
      return byte_fallback(text);
    case Kind::kFuse:
      return;
    case Kind::kReplace:
      if (step.regex != nullptr) return replace_matches(text, *step.regex, step.b);
      return replace_all(text, step.a, step.b);
    case Kind::kStrip:
      return strip(text, step);
    case Kind::kMetaspace:
      return replace_all(text, step.a, first && step.flag ? "" : " ");
    case Kind::kWordPiece:
      if (!first && text.starts_with(step.a)) {
        text.erase(0, step.a.size());
      } else if (!first) {
        text.insert(0, " ");
      }
      if (step.flag) clean_up(text);
      return;
    case Kind::kBpe:
      return replace_all(text, step.a, last ? "" : " ");
    case Kind::kCtc:
      return ctc(text, step);
    case Kind::kSpaces:
      if (!first) text.insert(0, " ");
      return;
  }
}

// Bytes in a row are one token to the steps behind.
void join_bytes(std::vector<std::string>& tokens) {
  std::vector<std::string> out;
  bool before = false;  // the last one was a byte
  for (std::string& token : tokens) {
    std::string text = token;
    byte_fallback(text);
    const bool byte = text.size() == 1 && token.size() == 6;
    if (byte && before) {
      out.back() += text;
    } else {
      out.push_back(std::move(text));
    }
    before = byte;
  }
  tokens = std::move(out);
}

void apply_all(const Step& step, std::vector<std::string>& tokens) {
  if (step.kind == Kind::kByteFallback) return join_bytes(tokens);
  if (step.kind == Kind::kCtc) {
    tokens.erase(std::unique(tokens.begin(), tokens.end()), tokens.end());
  }
  for (size_t i = 0; i < tokens.size(); ++i) {
    apply(step, tokens[i], i == 0, i + 1 == tokens.size());
  }
  if (step.kind == Kind::kCtc) {
    std::erase_if(tokens, [](const std::string& token) { return token.empty(); });
  }
}

}  // namespace

TokenDecoder::TokenDecoder(std::vector<Step> steps) {
  bool fused = false;
  for (Step& step : steps) {
    const bool fuses = step.kind == Kind::kFuse || step.kind == Kind::kByteLevel;
    (fused ? whole_ : single_).push_back(std::move(step));
    fused = fused || fuses;
  }
}

std::string TokenDecoder::piece(std::string_view token, bool first) const {
  std::string text(token);
  for (const Step& step : single_) apply(step, text, first, false);
  return text;
}

void TokenDecoder::finish(std::string& text) const {
  for (const Step& step : whole_) apply(step, text, true, true);
}

std::string TokenDecoder::join(std::vector<std::string> tokens) const {
  for (const Step& step : single_) apply_all(step, tokens);
  std::string out;
  for (const std::string& token : tokens) out += token;
  finish(out);
  return out;
}

bool TokenDecoder::is_positionless() const noexcept {
  return whole_.empty() && std::none_of(single_.begin(), single_.end(), [](const Step& step) {
           return step.kind == Kind::kMetaspace || step.kind == Kind::kWordPiece ||
                  step.kind == Kind::kBpe || step.kind == Kind::kCtc || step.kind == Kind::kSpaces;
         });
}

bool TokenDecoder::asks_neighbours() const noexcept {
  for (size_t i = 0; i < single_.size(); ++i) {
    const Kind kind = single_[i].kind;
    const bool next_sees_bytes =
        kind == Kind::kByteFallback && i + 1 < single_.size() && single_[i + 1].kind != Kind::kFuse;
    if (kind == Kind::kBpe || kind == Kind::kCtc || next_sees_bytes) return true;
  }
  return false;
}

bool TokenDecoder::streams() const noexcept {
  const bool repeats = std::any_of(single_.begin(), single_.end(),
                                   [](const Step& step) { return step.kind == Kind::kCtc; });
  return !repeats && std::all_of(whole_.begin(), whole_.end(), [](const Step& step) {
    return step.kind == Kind::kFuse || (step.kind == Kind::kStrip && step.a == " ");
  });
}

double TokenDecoder::growth() const noexcept {
  double product = 1;
  for (const std::vector<Step>* steps : {&single_, &whole_}) {
    for (const Step& step : *steps) {
      const double made = static_cast<double>(step.b.size());
      if (step.kind == Kind::kReplace && step.regex != nullptr) product *= 1 + made;
      if (step.kind == Kind::kReplace && step.regex == nullptr) {
        product *= std::max(1.0, made / static_cast<double>(step.a.size()));
      }
      if (step.kind == Kind::kWordPiece || step.kind == Kind::kSpaces) product *= 2;
    }
  }
  return product;
}

bool TokenDecoder::is_byte_level() const noexcept {
  return whole_.empty() && single_.size() == 1 && single_[0].kind == Kind::kByteLevel;
}

}  // namespace o3::text
