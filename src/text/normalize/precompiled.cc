// SPDX-License-Identifier: Apache-2.0
#include "text/normalize/precompiled.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "text/unicode/reference_graphemes.h"
#include "text/unicode/utf8.h"

namespace o3::text {
namespace {

constexpr size_t kLongestLookedUp = 5;  // bytes of a cluster that is looked up as a whole

// A unit of the trie: the label of its byte, whether a value hangs on it, where its children lie.
uint32_t label(uint32_t unit) noexcept {
  return unit & (1u << 31 | 0xFF);
}
bool has_value(uint32_t unit) noexcept {
  return (unit >> 8 & 1u) != 0;
}
size_t offset(uint32_t unit) noexcept {
  return static_cast<size_t>(unit >> 10) << (unit >> 6 & 8u);
}
size_t value(uint32_t unit) noexcept {
  return unit & 0x7FFFFFFF;
}

class Precompiled final : public Normalizer {
 public:
  explicit Precompiled(PrecompiledRules rules) : rules_(std::move(rules)) {}

  void apply(MarkedText& in) const override {
    MarkedText out;
    out.text.reserve(in.text.size());
    const std::string_view text = in.text;
    for (size_t at = 0; at < text.size();) {
      const size_t end = at + reference_cluster(text.substr(at));
      if (end - at <= kLongestLookedUp && replace(in, at, end, out)) {
        at = end;
        continue;
      }
      while (at < end) {
        const size_t next = at + next_utf8_unit(text.substr(at)).bytes;
        if (!replace(in, at, next, out)) {
          out.append(text.substr(at, next - at), marked(in, at, next), in.marked());
        }
        at = next;
      }
    }
    in = std::move(out);
  }
  bool keeps(std::string_view text) const override {
    return std::all_of(text.begin(), text.end(), [this](char c) { return rules_.leaves(c); });
  }
  double most_bytes(double bytes) const override {
    return bytes * static_cast<double>(std::max<size_t>(rules_.longest_replacement(), 1));
  }

 private:
  static bool marked(const MarkedText& in, size_t begin, size_t end) {
    return in.marked() && in.all(begin, end);
  }
  bool replace(const MarkedText& in, size_t begin, size_t end, MarkedText& out) const {
    const auto found = rules_.find(std::string_view(in.text).substr(begin, end - begin));
    if (found) out.append(*found, marked(in, begin, end), in.marked());
    return found.has_value();
  }

  PrecompiledRules rules_;
};

}  // namespace

Result<PrecompiledRules> PrecompiledRules::parse(std::span<const std::byte> raw) {
  uint32_t trie_bytes = 0;
  if (raw.size() < sizeof trie_bytes) return invalid("precompiled rules are cut short");
  std::memcpy(&trie_bytes, raw.data(), sizeof trie_bytes);
  raw = raw.subspan(sizeof trie_bytes);
  if (trie_bytes > raw.size() || trie_bytes < 4 || trie_bytes % 4 != 0) {
    return invalid("precompiled rules announce a trie of " + std::to_string(trie_bytes) +
                   " bytes; " + std::to_string(raw.size()) + " follow");
  }
  PrecompiledRules out;
  out.units_.resize(trie_bytes / 4);
  std::memcpy(out.units_.data(), raw.data(), trie_bytes);
  raw = raw.subspan(trie_bytes);
  out.replacements_.assign(reinterpret_cast<const char*>(raw.data()), raw.size());
  if (!is_utf8(out.replacements_)) return invalid("precompiled rules hold text that is not UTF-8");
  for (size_t at = 0; at < out.replacements_.size();) {
    const size_t end = std::min(out.replacements_.find('\0', at), out.replacements_.size());
    out.longest_ = std::max(out.longest_, end - at);
    at = end + 1;
  }
  if (out.longest_ > kMaxReplacementBytes) {
    return invalid("precompiled rules have a replacement of " + std::to_string(out.longest_) +
                   " bytes; 256 are the most");
  }
  for (size_t c = 0; c < 0x80; ++c) {
    const size_t node = offset(out.units_[0]) ^ c;
    out.left_[c] = c == 0 || node >= out.units_.size() || label(out.units_[node]) != c;
  }
  return out;
}

std::optional<std::string_view> PrecompiledRules::find(std::string_view text) const noexcept {
  size_t node = offset(units_[0]);
  for (const char c : text) {
    const auto byte = static_cast<uint8_t>(c);
    node ^= byte;
    if (byte == 0 || node >= units_.size() || label(units_[node]) != byte) return std::nullopt;
    const uint32_t unit = units_[node];
    node ^= offset(unit);
    if (!has_value(unit)) continue;
    if (node >= units_.size()) return std::nullopt;
    return replacement(value(units_[node]));
  }
  return std::nullopt;
}

std::optional<std::string_view> PrecompiledRules::replacement(size_t at) const noexcept {
  const bool inside =
      at < replacements_.size() && (static_cast<uint8_t>(replacements_[at]) & 0xC0) != 0x80;
  if (!inside) return std::nullopt;
  const size_t end = std::min(replacements_.find('\0', at), replacements_.size());
  return std::string_view(replacements_).substr(at, end - at);
}

NormalizerPtr precompiled_normalizer(PrecompiledRules rules) {
  return std::make_unique<Precompiled>(std::move(rules));
}

}  // namespace o3::text
