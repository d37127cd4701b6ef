// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace o3::text {

// A set of code points: sorted ranges (first, last) that neither overlap nor touch.
class CharSet {
 public:
  using Range = std::pair<char32_t, char32_t>;

  CharSet() = default;
  explicit CharSet(std::vector<Range> ranges);

  void add(char32_t first, char32_t last) { ranges_.emplace_back(first, last); }
  void add(const CharSet& other);
  void normalize();  // after add(), before anything else
  void complement();
  // Adds the other case of ASCII letters, and U+017F and U+212A, which fold to s and k. False: the
  // set has a letter beyond ASCII, whose folding is not known here.
  bool fold_case();

  bool contains(char32_t code) const noexcept;
  bool overlaps(const CharSet& other) const noexcept;
  bool empty() const noexcept { return ranges_.empty(); }
  const std::vector<Range>& ranges() const noexcept { return ranges_; }
  bool operator==(const CharSet&) const = default;

  // "L", "Lu", "Nd", ... as in \p{...}; nothing for unknown names.
  static std::optional<CharSet> property(std::string_view name);
  static CharSet white_space();
  static CharSet word();  // \w: Alphabetic, M, Nd, Pc (UTS #18, annex C)

 private:
  std::vector<Range> ranges_;
};

}  // namespace o3::text
