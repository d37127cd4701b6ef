// SPDX-License-Identifier: Apache-2.0
// How much of the leased KV memory holds tokens (design section 5, spec A3). The engine updates the
// counts as it leases and writes; fragmentation is exported as the time average.
#pragma once

#include <cstdint>

#include "base/clock.h"

namespace o3::cache {

// A slot is the place of one token in one KV group.
struct SlotUsage {
  int64_t leased = 0;   // slots in the pages that sequences hold
  int64_t written = 0;  // of those, slots that hold a token

  // 1 - written / leased; nothing leased is not fragmented.
  double fragmentation() const noexcept {
    return leased > 0 ? 1.0 - static_cast<double>(written) / static_cast<double>(leased) : 0.0;
  }
  bool operator==(const SlotUsage&) const = default;
};

// SlotUsage integrated over time, which several pools can add up.
struct SlotSeconds {
  double leased = 0.0;
  double written = 0.0;

  double fragmentation() const noexcept { return leased > 0.0 ? 1.0 - written / leased : 0.0; }
  SlotSeconds& operator+=(const SlotSeconds& other) noexcept {
    leased += other.leased;
    written += other.written;
    return *this;
  }
};

// Integrates SlotUsage over time.
class SlotUsageAverage {
 public:
  // `usage` holds from now on, until the next call.
  void observe(const SlotUsage& usage, Nanoseconds now) noexcept {
    if (started_) {
      const double seconds = std::chrono::duration<double>(now - since_).count();
      total_ += {seconds * static_cast<double>(current_.leased),
                 seconds * static_cast<double>(current_.written)};
    }
    started_ = true;
    since_ = now;
    current_ = usage;
  }
  const SlotSeconds& total() const noexcept { return total_; }

 private:
  SlotUsage current_;
  Nanoseconds since_{0};
  bool started_ = false;
  SlotSeconds total_;
};

}  // namespace o3::cache
