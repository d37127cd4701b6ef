// SPDX-License-Identifier: Apache-2.0
// Sizes of the KV pool before the engine starts.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "device/backend.h"
#include "model/model.h"

namespace o3::app {

// Bytes of pool that hold `tokens` tokens of one sequence.
int64_t kv_bytes_for(const model::Model& model, int32_t page_tokens, int64_t tokens);

// The memory that is free now, within the control groups' limits; nothing when unknown. `root` is
// "/" but in tests.
std::optional<int64_t> free_memory(const std::filesystem::path& root);

// A quarter of the free memory, but at most 1 GiB; at least one full context, but at most three
// quarters of the free memory: a pool beyond it would be killed for, or swap. Requests then have
// the context that such a pool holds.
int64_t choose_kv_bytes(int64_t one_context, std::optional<int64_t> free_bytes);

// On a device with memory of its own: 80 % of what is free once the weights are there; the rest is
// for the workspace of the largest steps.
int64_t choose_device_kv_bytes(int64_t free_bytes);

// What `serve` takes when --memory is not given: the above for one of `models` that share the free
// memory, with a warning in the log when the pool is smaller than one context.
int64_t default_kv_bytes(const model::Model& model, int32_t page_tokens,
                         const device::Backend& backend, int64_t models = 1);

}  // namespace o3::app
