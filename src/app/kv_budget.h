// SPDX-License-Identifier: Apache-2.0
// Sizes of the KV pool before the engine starts.
#pragma once

#include <cstdint>

#include "model/model.h"

namespace o3::app {

// Bytes of pool that hold `tokens` tokens of one sequence.
int64_t kv_bytes_for(const model::Model& model, int32_t page_tokens, int64_t tokens);

// What `serve` takes when --memory is not given: a quarter of the memory that is free now (within
// the container's limit), but at most 1 GiB, at least what one full context needs.
int64_t default_kv_bytes(const model::Model& model, int32_t page_tokens);

}  // namespace o3::app
