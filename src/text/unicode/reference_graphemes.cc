// SPDX-License-Identifier: Apache-2.0
#include "text/unicode/reference_graphemes.h"

#include <cstdint>

#include "text/unicode/code_ranges.h"
#include "text/unicode/utf8.h"

namespace o3::text {
namespace {

#include "text/unicode/reference_graphemes.inc"

// Flags of Unicode stand in pairs, of four bytes each: their rule decides no cluster below 6 bytes.
enum class Class : uint8_t {
  kOther,
  kCarriageReturn,
  kLineFeed,
  kControl,
  kAttached,  // Extend and SpacingMark
  kLinker,    // Extend that joins consonants
  kJoiner,    // U+200D
  kPrepended,
  kPictograph,
  kConsonant,
  kLeading,  // Hangul
  kVowel,
  kTrailing,
  kSyllable,        // leading and vowel
  kClosedSyllable,  // and trailing
};

bool between(char32_t code, char32_t first, char32_t last) noexcept {
  return code >= first && code <= last;
}

Class hangul(char32_t code) noexcept {
  if (between(code, 0x1100, 0x115F) || between(code, 0xA960, 0xA97C)) return Class::kLeading;
  if (between(code, 0x1160, 0x11A7) || between(code, 0xD7B0, 0xD7C6)) return Class::kVowel;
  if (between(code, 0x11A8, 0x11FF) || between(code, 0xD7CB, 0xD7FB)) return Class::kTrailing;
  if (!between(code, 0xAC00, 0xD7A3)) return Class::kOther;
  return (code - 0xAC00) % 28 == 0 ? Class::kSyllable : Class::kClosedSyllable;
}

Class class_of(char32_t code) noexcept {
  if (between(code, 0x20, 0x7E)) return Class::kOther;
  if (code == '\r') return Class::kCarriageReturn;
  if (code == '\n') return Class::kLineFeed;
  if (code == 0x200D) return Class::kJoiner;
  if (in_ranges(kControls, code)) return Class::kControl;
  if (in_ranges(kMarks, code)) return Class::kAttached;
  if (in_ranges(kLinkers, code)) return Class::kLinker;
  if (in_ranges(kPrefixes, code)) return Class::kPrepended;
  if (in_ranges(kPictographs, code)) return Class::kPictograph;
  if (in_ranges(kConsonants, code)) return Class::kConsonant;
  return hangul(code);
}

bool is_control(Class c) noexcept {
  return c == Class::kCarriageReturn || c == Class::kLineFeed || c == Class::kControl;
}

bool joins_hangul(Class before, Class next) noexcept {
  switch (before) {
    case Class::kLeading:
      return next == Class::kLeading || next == Class::kVowel || next == Class::kSyllable ||
             next == Class::kClosedSyllable;
    case Class::kSyllable:
    case Class::kVowel:
      return next == Class::kVowel || next == Class::kTrailing;
    case Class::kClosedSyllable:
    case Class::kTrailing:
      return next == Class::kTrailing;
    default:
      return false;
  }
}

// What the characters of a cluster so far allow to follow.
class Cluster {
 public:
  explicit Cluster(Class first) : last_(first) { start_part(first); }

  bool takes(Class next) const noexcept {
    if (last_ == Class::kCarriageReturn && next == Class::kLineFeed) return true;
    if (is_control(last_) || is_control(next)) return false;
    if (next == Class::kAttached || next == Class::kLinker || next == Class::kJoiner) return true;
    if (last_ == Class::kPrepended) return true;
    if (next == Class::kPictograph) return pictograph_ && last_ == Class::kJoiner;
    if (next == Class::kConsonant) return linked_;
    return joins_hangul(last_, next);
  }
  void add(Class next) noexcept {
    if (next == Class::kLinker) {
      linked_ = consonant_;
    } else if (next != Class::kAttached && next != Class::kJoiner) {
      start_part(next);
    }
    last_ = next;
  }

 private:
  void start_part(Class c) noexcept {
    pictograph_ = c == Class::kPictograph;
    consonant_ = c == Class::kConsonant;
    linked_ = false;
  }

  Class last_;
  bool pictograph_ = false;  // a pictograph and only marks behind it
  bool consonant_ = false;   // the same with a consonant
  bool linked_ = false;      // and a linker is among the marks
};

}  // namespace

size_t reference_cluster(std::string_view text) noexcept {
  const Utf8Unit first = next_utf8_unit(text);
  Cluster cluster(class_of(first.code));
  size_t at = first.bytes;
  while (at < text.size()) {
    const Utf8Unit unit = next_utf8_unit(text.substr(at));
    const Class next = class_of(unit.code);
    if (!cluster.takes(next)) break;
    cluster.add(next);
    at += unit.bytes;
  }
  return at;
}

}  // namespace o3::text
