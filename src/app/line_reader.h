// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace o3::app {

// Lines of a file descriptor, of bounded length; a line is given as soon as its end has arrived.
class LineReader {
 public:
  enum class Status : unsigned char {
    kLine,
    kTooLong,  // longer than the limit: passed over, and nothing of it is kept
    kEnd,      // or an error of the system, which ends the input as well
  };

  LineReader(int descriptor, size_t max_bytes) : descriptor_(descriptor), max_bytes_(max_bytes) {}

  // The next line without its '\n', which the last line may lack. `line` is its text if kLine.
  Status next(std::string& line);

 private:
  bool fill();

  int descriptor_;
  size_t max_bytes_;
  std::vector<char> buffer_ = std::vector<char>(size_t{1} << 16);
  size_t begin_ = 0;  // of what was read and not given yet
  size_t end_ = 0;
};

}  // namespace o3::app
