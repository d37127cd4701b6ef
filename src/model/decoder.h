// SPDX-License-Identifier: Apache-2.0
// The decoder that all families of this build are variants of: rotary positions, grouped query
// heads, RMS norms, gated FFN. What a family adds (biases, head norms, windows, soft caps, norms
// behind the blocks) is told by its ModelConfig.
#pragma once

#include <memory>

#include "base/result.h"
#include "cache/cache_spec.h"
#include "device/backend.h"
#include "model/checkpoint.h"
#include "model/model.h"

namespace o3::model {

// What one layer asks of the KV cache.
cache::CacheSpec layer_cache_spec(const ModelConfig& config, int32_t layer, device::DType kv_dtype);

// See load_model() for errors.
Result<std::unique_ptr<Model>> load_decoder(const std::shared_ptr<const Checkpoint>& checkpoint,
                                            ModelConfig config, device::Backend& backend,
                                            const LoadOptions& options);

}  // namespace o3::model
