// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "base/result.h"
#include "model/memory_plan.h"

namespace o3::app {

// Refuses (kExhausted) what `free_bytes` cannot hold, with what would fit. `kv_bytes`: the size of
// the pool that was asked for, 0 when it is chosen from what is left. Unknown free memory holds
// everything.
Result<void> check_memory(const model::Footprint& footprint, const model::PlanQuery& query,
                          int64_t kv_bytes, std::optional<int64_t> free_bytes);

}  // namespace o3::app
