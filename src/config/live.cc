// SPDX-License-Identifier: Apache-2.0
#include "config/live.h"

#include <string>

namespace o3::config {

Live::Live(Snapshot first) : epoch_{1, std::make_shared<const Snapshot>(std::move(first))} {}

Epoch Live::current() const {
  const std::lock_guard lock(mutex_);
  return epoch_;
}

Result<uint64_t> Live::replace(Snapshot next) {
  const std::lock_guard lock(mutex_);
  const Snapshot& now = *epoch_.settings;
  O3_CHECK(next.table().data() == now.table().data(), "settings of another table");
  for (const Setting& row : now.table()) {
    if (row.reload == Reload::kRestart && next.value(row) != now.value(row)) {
      const std::string name(row.name);
      return Error{Code::kConflict,
                   next.origin(row) + ": " + name + " takes effect only at a restart", name};
    }
  }
  epoch_ = {epoch_.number + 1, std::make_shared<const Snapshot>(std::move(next))};
  return epoch_.number;
}

}  // namespace o3::config
