// SPDX-License-Identifier: Apache-2.0
#include "base/check.h"

#include <execinfo.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>

namespace o3 {

void check_failed(const char* file, int line, const char* condition, const char* why) noexcept {
  std::fprintf(stderr, "%s:%d: broken invariant: %s (%s)\n", file, line, condition, why);
  std::array<void*, 64> frames{};
  const int depth = backtrace(frames.data(), static_cast<int>(frames.size()));
  backtrace_symbols_fd(frames.data(), depth, STDERR_FILENO);
  std::abort();
}

}  // namespace o3
