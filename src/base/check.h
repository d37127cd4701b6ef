// SPDX-License-Identifier: Apache-2.0
// Invariants. A failed check is a bug of ours, never reachable from input: it prints where and why,
// a backtrace, and aborts.
#pragma once

namespace o3 {

[[noreturn]] void check_failed(const char* file, int line, const char* condition,
                               const char* why) noexcept;

}  // namespace o3

// Always on, also in release builds.
#define O3_CHECK(condition, why) \
  ((condition) ? static_cast<void>(0) : ::o3::check_failed(__FILE__, __LINE__, #condition, why))

// Debug builds only: for checks on hot paths.
#ifdef NDEBUG
#define O3_DCHECK(condition, why) static_cast<void>(sizeof(!(condition)))
#else
#define O3_DCHECK(condition, why) O3_CHECK(condition, why)
#endif
