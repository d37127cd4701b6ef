// SPDX-License-Identifier: Apache-2.0
#include "app/json_lines.h"

namespace o3::app {

LineRead read_line(std::FILE* file, size_t most, std::string& line) {
  line.clear();
  bool any = false;
  bool too_long = false;
  for (int c = ::getc_unlocked(file); c != EOF; c = ::getc_unlocked(file)) {
    any = true;
    if (c == '\n') break;
    too_long = too_long || line.size() == most;
    if (!too_long) line.push_back(static_cast<char>(c));
  }
  if (!any) return LineRead::kEnd;
  return too_long ? LineRead::kTooLong : LineRead::kLine;
}

}  // namespace o3::app
