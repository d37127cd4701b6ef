// SPDX-License-Identifier: Apache-2.0
#include "text/unicode/normalization.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>

#include "text/unicode/utf8.h"

namespace o3::text {
namespace {

struct Decomposition {
  char32_t code;
  uint8_t compatible;  // applies to NFKC and NFKD only
  uint8_t length;
  uint16_t begin;  // in kDecomposed
};
struct Composition {
  char32_t first;
  char32_t second;
  char32_t composed;
};
struct CombiningClass {
  char32_t code;
  uint8_t value;
};
#include "text/unicode/normalization_tables.inc"

// Hangul syllables (The Unicode Standard, 3.12).
constexpr char32_t kS = 0xAC00;
constexpr char32_t kL = 0x1100;
constexpr char32_t kV = 0x1161;
constexpr char32_t kT = 0x11A7;
constexpr char32_t kLs = 19;
constexpr char32_t kVs = 21;
constexpr char32_t kTs = 28;

constexpr char32_t kFirstDecomposing = 0xA0;  // below: no decomposition, no combining class
constexpr char32_t kFirstCombining = 0x300;

bool is_compatible(NormalForm form) noexcept {
  return form == NormalForm::kNfkc || form == NormalForm::kNfkd;
}
bool composes(NormalForm form) noexcept {
  return form == NormalForm::kNfc || form == NormalForm::kNfkc;
}

uint8_t combining_class(char32_t code) noexcept {
  if (code < kFirstCombining) return 0;
  const auto* found =
      std::lower_bound(std::begin(kCombiningClasses), std::end(kCombiningClasses), code,
                       [](const CombiningClass& c, char32_t wanted) { return c.code < wanted; });
  return found != std::end(kCombiningClasses) && found->code == code ? found->value : 0;
}

const Decomposition* decomposition(char32_t code, bool compatible) noexcept {
  if (code < kFirstDecomposing) return nullptr;
  const auto* found =
      std::lower_bound(std::begin(kDecompositions), std::end(kDecompositions), code,
                       [](const Decomposition& d, char32_t wanted) { return d.code < wanted; });
  const Decomposition* best = nullptr;  // a compatibility mapping stands behind a canonical one
  for (; found != std::end(kDecompositions) && found->code == code; ++found) {
    if (found->compatible == 0 || compatible) best = found;
  }
  return best;
}

void decompose(MarkedChar c, bool compatible, std::vector<MarkedChar>& out) {
  const auto put = [&](char32_t code) { out.push_back({code, c.mark, combining_class(code)}); };
  if (c.code >= kS && c.code < kS + kLs * kVs * kTs) {
    const char32_t index = c.code - kS;
    put(kL + index / (kVs * kTs));
    put(kV + index % (kVs * kTs) / kTs);
    if (index % kTs != 0) put(kT + index % kTs);
  } else if (const Decomposition* d = decomposition(c.code, compatible)) {
    for (size_t i = 0; i < d->length; ++i) put(kDecomposed[d->begin + i]);
  } else {
    put(c.code);
  }
}

// Canonical order: runs of combining characters are sorted by class, equal classes stay.
void reorder(std::vector<MarkedChar>& chars) {
  const auto less = [](const MarkedChar& a, const MarkedChar& b) {
    return a.combining_class < b.combining_class;
  };
  for (auto at = chars.begin(); at != chars.end();) {
    if (at->combining_class == 0) {
      ++at;
      continue;
    }
    const auto end =
        std::find_if(at, chars.end(), [](const MarkedChar& c) { return c.combining_class == 0; });
    std::stable_sort(at, end, less);
    at = end;
  }
}

char32_t composed(char32_t first, char32_t second) noexcept {  // 0: they do not compose
  if (first >= kL && first < kL + kLs && second >= kV && second < kV + kVs) {
    return kS + ((first - kL) * kVs + (second - kV)) * kTs;
  }
  const bool open = first >= kS && first < kS + kLs * kVs * kTs && (first - kS) % kTs == 0;
  if (open && second > kT && second < kT + kTs) return first + (second - kT);
  const Composition wanted{first, second, 0};
  const auto* found =
      std::lower_bound(std::begin(kCompositions), std::end(kCompositions), wanted,
                       [](const Composition& a, const Composition& b) {
                         return a.first != b.first ? a.first < b.first : a.second < b.second;
                       });
  const bool same =
      found != std::end(kCompositions) && found->first == first && found->second == second;
  return same ? found->composed : 0;
}

// Each character joins the last starter before it unless a character of its class or a higher one
// stands between (UAX #15, section 1.3).
void compose(std::vector<MarkedChar>& chars) {
  constexpr size_t kNone = SIZE_MAX;
  size_t starter = kNone;
  size_t kept = 0;
  for (size_t i = 0; i < chars.size(); ++i) {
    const MarkedChar c = chars[i];
    const bool adjacent = starter != kNone && starter + 1 == kept;
    const bool blocked =
        !adjacent && kept > 0 && chars[kept - 1].combining_class >= c.combining_class;
    if (starter != kNone && !blocked) {
      if (const char32_t joined = composed(chars[starter].code, c.code); joined != 0) {
        chars[starter].code = joined;
        chars[starter].mark = chars[starter].mark && c.mark;
        continue;
      }
    }
    if (c.combining_class == 0) starter = kept;
    chars[kept++] = c;
  }
  chars.resize(kept);
}

}  // namespace

void normalize(std::vector<MarkedChar>& chars, NormalForm form) {
  std::vector<MarkedChar> out;
  out.reserve(chars.size() + chars.size() / 8);
  for (const MarkedChar& c : chars) decompose(c, is_compatible(form), out);
  reorder(out);
  if (composes(form)) compose(out);
  chars = std::move(out);
}

bool is_surely_normal(std::string_view text, NormalForm form) noexcept {
  // Below U+0300 nothing combines, so NFC changes nothing; below U+00A0 nothing decomposes.
  const uint8_t limit = form == NormalForm::kNfc ? 0xCC : 0xC2;
  return std::all_of(text.begin(), text.end(),
                     [limit](char c) { return static_cast<uint8_t>(c) < limit; });
}

std::string normalized(std::string_view text, NormalForm form) {
  if (is_surely_normal(text, form)) return std::string(text);
  std::vector<MarkedChar> chars;
  while (!text.empty()) {
    const Utf8Unit unit = next_utf8_unit(text);
    chars.push_back({unit.code, false, 0});
    text.remove_prefix(unit.bytes);
  }
  normalize(chars, form);
  std::string out;
  for (const MarkedChar& c : chars) append_utf8(c.code, out);
  return out;
}

}  // namespace o3::text
