// SPDX-License-Identifier: Apache-2.0
#include "base/local_time.h"

#include <ctime>

namespace o3 {

std::chrono::seconds local_time(std::chrono::nanoseconds wall) noexcept {
  const auto utc = std::chrono::floor<std::chrono::seconds>(wall);
  const auto moment = static_cast<std::time_t>(utc.count());
  std::tm broken_down{};
  if (localtime_r(&moment, &broken_down) == nullptr) return utc;  // a year beyond int
  return utc + std::chrono::seconds(broken_down.tm_gmtoff);
}

}  // namespace o3
