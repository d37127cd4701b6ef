// SPDX-License-Identifier: Apache-2.0
#include "text/regex/regex.h"

namespace o3::text {
namespace {

constexpr size_t kFar = 64;  // characters read in vain before they are remembered

}  // namespace

size_t RegexScanner::match_at(size_t begin) {
  size_t end = kNone;
  size_t read = 0;  // since the last match
  uint16_t state = regex_->start_;
  for (size_t at = begin;;) {
    if (read > kFar) {
      const uint8_t slot = regex_->loop_slot_[state];
      if (slot != Regex::kNoLoop) {
        if (known_failure(at, slot)) break;
        visits_.push_back({at, slot});
      }
    }
    const bool over = at == text_.size();
    const CharClasses::Char c = over ? CharClasses::Char{} : regex_->classes_.at(text_, at);
    const uint16_t entry = regex_->step(state, over ? regex_->stride_ - 1 : c.char_class);
    if ((entry & Regex::kMatched) != 0) {
      end = at;
      read = 0;
      visits_.clear();
    }
    state = entry & static_cast<uint16_t>(~Regex::kMatched);
    if (over || state == Regex::kDead) break;
    at += c.bytes;
    ++read;
  }
  if (!visits_.empty()) remember();
  return end;
}

void RegexScanner::remember() {
  if (failed_.empty()) failed_.resize(text_.size() + 1);
  for (const Visit& visit : visits_) {
    failed_[visit.at] = static_cast<uint8_t>(failed_[visit.at] | 1u << visit.slot);
  }
  visits_.clear();
}

RegexScanner::Match RegexScanner::next() {
  while (at_ <= text_.size()) {
    const size_t begin = at_;
    const size_t end = match_at(begin);
    if (end != kNone && !(end == begin && begin == last_end_)) {
      at_ = end;
      last_end_ = end;
      return {begin, end};
    }
    at_ += begin == text_.size() ? 1 : regex_->classes_.at(text_, begin).bytes;
  }
  return {kNone, kNone};
}

}  // namespace o3::text
