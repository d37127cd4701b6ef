// SPDX-License-Identifier: Apache-2.0
#include "app/line_reader.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace o3::app {

bool LineReader::fill() {
  ssize_t got = 0;
  do {
    got = read(descriptor_, buffer_.data(), buffer_.size());
  } while (got < 0 && errno == EINTR);
  begin_ = 0;
  end_ = got > 0 ? static_cast<size_t>(got) : 0;
  return got > 0;
}

LineReader::Status LineReader::next(std::string& line) {
  line.clear();
  bool started = false;
  bool fits = true;
  while (begin_ < end_ || fill()) {
    started = true;
    const char* from = buffer_.data() + begin_;
    const size_t rest = end_ - begin_;
    const auto* stop = static_cast<const char*>(std::memchr(from, '\n', rest));
    const size_t bytes = stop == nullptr ? rest : static_cast<size_t>(stop - from);
    fits = fits && bytes <= max_bytes_ - line.size();
    if (fits) {
      line.append(from, bytes);
    } else {
      line = std::string();  // its memory too
    }
    begin_ += bytes;
    if (stop == nullptr) continue;
    ++begin_;
    break;
  }
  if (!started) return Status::kEnd;
  return fits ? Status::kLine : Status::kTooLong;
}

}  // namespace o3::app
