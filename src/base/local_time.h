// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

namespace o3 {

// What a clock on the wall of this machine shows (time zone of the process), as seconds since
// 1970-01-01 00:00 on that clock. `wall`: since the Unix epoch, UTC. Any thread.
std::chrono::seconds local_time(std::chrono::nanoseconds wall) noexcept;

}  // namespace o3
