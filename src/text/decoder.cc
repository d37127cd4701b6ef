// SPDX-License-Identifier: Apache-2.0
#include "text/decoder.h"

#include <algorithm>
#include <array>
#include <utility>

#include "text/byte_alphabet.h"

namespace o3::text {
namespace {

using Step = Decoder::Step;
using Kind = Decoder::Step::Kind;

int hex_digit(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

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

void apply(const Step& step, std::string& text, bool first) {
  switch (step.kind) {
    case Kind::kByteLevel:
      return byte_level(text);
    case Kind::kByteFallback:
      return byte_fallback(text);
    case Kind::kFuse:
      return;
    case Kind::kReplace:
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
    case Kind::kSpaces:
      if (!first) text.insert(0, " ");
      return;
  }
}

}  // namespace

Result<Decoder> Decoder::build(std::vector<Step> steps) {
  Decoder out;
  bool fused = false;
  for (Step& step : steps) {
    const bool any =
        step.kind == Kind::kReplace || step.kind == Kind::kStrip || step.kind == Kind::kFuse;
    if (fused && !any) {
      return unsupported("a decoder behind Fuse or ByteLevel other than Strip and Replace");
    }
    fused = fused || step.kind == Kind::kFuse || step.kind == Kind::kByteLevel;
    const bool behind = fused && step.kind != Kind::kByteLevel && step.kind != Kind::kFuse;
    (behind ? out.whole_ : out.single_).push_back(std::move(step));
  }
  return out;
}

std::string Decoder::piece(std::string_view token, bool first) const {
  std::string text(token);
  for (const Step& step : single_) apply(step, text, first);
  return text;
}

void Decoder::finish(std::string& text) const {
  for (const Step& step : whole_) apply(step, text, false);
}

bool Decoder::is_positionless() const noexcept {
  return whole_.empty() && std::none_of(single_.begin(), single_.end(), [](const Step& step) {
           return step.kind == Kind::kMetaspace || step.kind == Kind::kWordPiece ||
                  step.kind == Kind::kSpaces;
         });
}

bool Decoder::is_byte_level() const noexcept {
  return whole_.empty() && single_.size() == 1 && single_[0].kind == Kind::kByteLevel;
}

}  // namespace o3::text
