// SPDX-License-Identifier: Apache-2.0
// Time is passed in, so that tests own it. Durations and deadlines are monotonic; wall time is for
// people and records only.
#pragma once

#include <atomic>
#include <chrono>

namespace o3 {

using Nanoseconds = std::chrono::nanoseconds;

class Clock {
 public:
  virtual ~Clock() = default;
  virtual Nanoseconds monotonic() const noexcept = 0;  // since an arbitrary start
  virtual Nanoseconds wall() const noexcept = 0;       // since the Unix epoch, UTC
};

class SystemClock final : public Clock {
 public:
  Nanoseconds monotonic() const noexcept override {
    return std::chrono::steady_clock::now().time_since_epoch();
  }
  Nanoseconds wall() const noexcept override {
    return std::chrono::system_clock::now().time_since_epoch();
  }
};

// A clock that moves only when told to; any thread may read it.
class ManualClock final : public Clock {
 public:
  Nanoseconds monotonic() const noexcept override { return Nanoseconds(now_.load()); }
  Nanoseconds wall() const noexcept override { return Nanoseconds(now_.load()); }
  void advance(Nanoseconds by) noexcept { now_.fetch_add(by.count()); }

 private:
  std::atomic<int64_t> now_{0};
};

}  // namespace o3
