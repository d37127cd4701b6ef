// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/result.h"
#include "config/snapshot.h"

namespace o3::app {

struct ServeOutput {
  bool open_page = false;  // open the chat page when there is a desktop
  bool json = false;       // one JSON line in place of the lines for people
};

// Loads the model, listens, and returns after SIGTERM or SIGINT: not ready first, running answers
// finish (for drain_timeout at most), connections close.
Result<void> serve(const config::Snapshot& settings, const ServeOutput& output);

}  // namespace o3::app
