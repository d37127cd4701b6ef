// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>

#include "base/clock.h"
#include "kernels/exec.h"

namespace o3::engine {

// How one model runs in the engine.
struct InstanceOptions {
  int64_t kv_bytes = 0;         // size of its KV pool; must hold at least one page of each group
  int32_t page_tokens = 32;     // 16-256, power of two
  int32_t max_running = 64;     // sequences in one step
  int32_t max_step_rows = 512;  // batch rows of one step (prefill chunk + decode rows)
  Nanoseconds step_time_target = std::chrono::milliseconds(25);  // sets the prefill budget when
                                                                 // decodes are running
  bool share_prefixes = true;  // tokens that the cache holds are not computed again
  kernels::Compute compute = kernels::Compute::kFast;
};

}  // namespace o3::engine
