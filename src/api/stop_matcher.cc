// SPDX-License-Identifier: Apache-2.0
#include "api/stop_matcher.h"

#include <algorithm>

namespace o3::api {

StopMatcher::StopMatcher(std::vector<std::string> stops, bool include) : include_(include) {
  for (std::string& stop : stops) {
    Pattern pattern{.text = std::move(stop), .fallback = {}};
    pattern.fallback.assign(pattern.text.size() + 1, 0);
    for (size_t i = 1, border = 0; i < pattern.text.size(); ++i) {
      while (border > 0 && pattern.text[i] != pattern.text[border]) {
        border = pattern.fallback[border];
      }
      if (pattern.text[i] == pattern.text[border]) ++border;
      pattern.fallback[i + 1] = border;
    }
    patterns_.push_back(std::move(pattern));
  }
}

void StopMatcher::Pattern::advance(char byte) {
  while (matched > 0 && text[matched] != byte) matched = fallback[matched];
  if (text[matched] == byte) ++matched;
}

// The longest stop string that ends with this byte, or nullptr.
const StopMatcher::Pattern* StopMatcher::advance(char byte) {
  const Pattern* ended = nullptr;
  for (Pattern& pattern : patterns_) {
    pattern.advance(byte);
    if (pattern.matched < pattern.text.size()) continue;
    if (ended == nullptr || pattern.text.size() > ended->text.size()) ended = &pattern;
  }
  return ended;
}

bool StopMatcher::push(std::string_view text, std::string& out) {
  if (found()) return true;
  if (patterns_.empty()) {
    out.append(text);
    return false;
  }
  for (size_t i = 0; i < text.size(); ++i) {
    found_ = advance(text[i]);
    if (!found()) continue;
    held_.append(text.substr(0, i + 1));
    out.append(held_, 0, held_.size() - (include_ ? 0 : found_->text.size()));
    held_.clear();
    return true;
  }
  if (text.empty()) return false;
  size_t longest = 0;
  for (const Pattern& pattern : patterns_) longest = std::max(longest, pattern.matched);
  held_.append(text);
  out.append(held_, 0, held_.size() - longest);
  held_.erase(0, held_.size() - longest);
  return false;
}

void StopMatcher::flush(std::string& out) {
  out.append(held_);
  held_.clear();
}

}  // namespace o3::api
