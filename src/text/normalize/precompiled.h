// SPDX-License-Identifier: Apache-2.0
// SentencePiece's precompiled normalization rules: a double-array trie over bytes (Aoe 1989; Darts'
// layout of units) from texts to places in a text of replacements, each ended by a zero byte.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/normalize/normalizer.h"

namespace o3::text {

class PrecompiledRules {
 public:
  static constexpr size_t kMaxReplacementBytes = 256;

  // u32 bytes of the trie, its units (u32 each), the replacements. kInvalid: cut short, not UTF-8,
  // or a replacement longer than that.
  static Result<PrecompiledRules> parse(std::span<const std::byte> raw);

  // What the shortest rule that `text` begins with makes of it; so does the reference.
  std::optional<std::string_view> find(std::string_view text) const noexcept;
  // No rule begins with the ASCII character.
  bool leaves(char c) const noexcept { return left_[static_cast<uint8_t>(c)]; }
  size_t longest_replacement() const noexcept { return longest_; }

 private:
  std::optional<std::string_view> replacement(size_t at) const noexcept;

  std::vector<uint32_t> units_;
  std::string replacements_;
  size_t longest_ = 0;
  std::array<bool, 256> left_{};  // false beyond ASCII
};

// As the reference has it: a grapheme cluster below 6 bytes that begins with a rule's text becomes
// that rule's replacement, all of it; else each of its characters is looked up.
NormalizerPtr precompiled_normalizer(PrecompiledRules rules);

}  // namespace o3::text
