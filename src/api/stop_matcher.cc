// SPDX-License-Identifier: Apache-2.0
#include "api/stop_matcher.h"

#include <algorithm>

namespace o3::api {

StopMatcher::StopMatcher(std::vector<std::string> stops) {
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

bool StopMatcher::push(std::string_view text, std::string& out) {
  if (found_) return true;
  if (patterns_.empty()) {
    out.append(text);
    return false;
  }
  size_t longest = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    longest = 0;
    size_t stop = 0;  // length of the longest stop string that ends here
    for (Pattern& pattern : patterns_) {
      pattern.advance(text[i]);
      longest = std::max(longest, pattern.matched);
      if (pattern.matched == pattern.text.size()) stop = std::max(stop, pattern.matched);
    }
    if (stop > 0) {
      held_.append(text.substr(0, i + 1));
      out.append(held_, 0, held_.size() - stop);
      held_.clear();
      found_ = true;
      return true;
    }
  }
  if (text.empty()) return false;
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
