// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>

#include "base/result.h"
#include "config/snapshot.h"

namespace o3::config {

// A snapshot with its place in the sequence of changes.
struct Epoch {
  uint64_t number = 0;  // 1 for the first, one more per change
  std::shared_ptr<const Snapshot> settings;
};

// The settings in force. Readers keep the snapshot they took for as long as their work lasts, so
// that one request never sees two configurations. Any thread.
class Live {
 public:
  explicit Live(Snapshot first);

  Epoch current() const;

  // Puts `next` (of the same table) in force and returns the new epoch's number. If a row with
  // Reload::kRestart differs: kConflict, names the row, nothing changes.
  Result<uint64_t> replace(Snapshot next);

 private:
  mutable std::mutex mutex_;
  Epoch epoch_;
};

}  // namespace o3::config
