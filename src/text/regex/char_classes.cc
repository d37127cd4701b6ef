// SPDX-License-Identifier: Apache-2.0
#include "text/regex/char_classes.h"

#include <algorithm>
#include <map>
#include <utility>

namespace o3::text {
namespace {

constexpr char32_t kCodes = 0x110000;
constexpr size_t kMaxClasses = 255;

}  // namespace

Result<CharClasses> CharClasses::build(std::span<const CharSet> sets) {
  // Where a set begins or ends, and which.
  std::vector<std::pair<char32_t, size_t>> toggles;
  for (size_t i = 0; i < sets.size(); ++i) {
    for (const auto& [first, last] : sets[i].ranges()) {
      toggles.emplace_back(first, i);
      toggles.emplace_back(last + 1, i);
    }
  }
  std::sort(toggles.begin(), toggles.end());

  CharClasses out;
  std::map<std::vector<bool>, uint8_t> known;
  std::vector<std::pair<char32_t, uint8_t>> runs;  // first code point, class
  std::vector<bool> inside(sets.size());
  size_t next = 0;
  for (char32_t code = 0; code < kCodes;) {
    while (next < toggles.size() && toggles[next].first == code) {
      inside[toggles[next].second] = !inside[toggles[next].second];
      ++next;
    }
    const auto [entry, fresh] = known.try_emplace(inside, static_cast<uint8_t>(known.size()));
    if (fresh) out.members_.push_back(inside);
    if (known.size() > kMaxClasses) {
      return unsupported("regular expression: more than 255 kinds of characters");
    }
    runs.emplace_back(code, entry->second);
    code = next < toggles.size() ? std::min(toggles[next].first, kCodes) : kCodes;
  }
  out.fill(runs);
  return out;
}

void CharClasses::fill(std::span<const std::pair<char32_t, uint8_t>> runs) {
  std::map<Page, uint16_t> known;
  size_t run = 0;
  for (char32_t base = 0; base < kCodes; base += 1u << kPageBits) {
    Page page;
    for (char32_t i = 0; i < page.size(); ++i) {
      while (run + 1 < runs.size() && runs[run + 1].first <= base + i) ++run;
      page[i] = runs[run].second;
    }
    const auto [entry, fresh] = known.try_emplace(page, static_cast<uint16_t>(pages_.size()));
    if (fresh) pages_.push_back(page);
    page_of_.push_back(entry->second);
  }
  std::copy_n(pages_[page_of_[0]].begin(), ascii_.size(), ascii_.begin());
}

}  // namespace o3::text
