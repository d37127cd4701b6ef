// SPDX-License-Identifier: Apache-2.0
// How much memory a model takes, worked out before anything is loaded (spec A15).
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "cache/cache_spec.h"
#include "device/backend.h"
#include "kernels/linear.h"
#include "model/load_model.h"

namespace o3::model {

// Layers with equal needs.
struct KvFootprint {
  cache::CacheSpec spec;
  int32_t layers = 0;
  int64_t bytes_per_token = 0;  // of all these layers, K and V

  // Of `tokens` tokens. Windowed layers never read more than their window, although pages that
  // have left it are kept for now.
  int64_t bytes(int64_t tokens) const noexcept { return tokens * bytes_per_token; }
};

// The counts are those of loading on the same backend with the same options, to the byte.
struct Footprint {
  ModelConfig config;
  int64_t file_bytes = 0;       // of all tensors, as they lie in the files
  int64_t weight_bytes = 0;     // packed, allocated with MemTag::kWeights
  int64_t embedding_bytes = 0;  // of the token embedding, whose rows are read from the mapped file
  std::vector<KvFootprint> kv;  // in the order of first layers

  // Scratch of one step of `rows` rows that gives `logit_rows` rows of logits, and these logits.
  int64_t workspace_bytes(int64_t rows, int64_t logit_rows) const;
  int64_t logit_bytes(int64_t logit_rows) const noexcept {
    return logit_rows * config.vocabulary * int64_t{sizeof(float)};
  }
  int64_t kv_bytes_per_token() const noexcept;

  // What workspace_bytes() is made from; matrices that follow each other in one scratch.
  kernels::Compute compute = kernels::Compute::kFast;
  std::vector<kernels::LinearSize> qkv;
  std::vector<kernels::LinearSize> attention_output;
  std::vector<kernels::LinearSize> gate_up;
  std::vector<kernels::LinearSize> down;
  std::vector<kernels::LinearSize> head;
  int64_t attention_scratch = 0;
};

// Errors as load_model().
Result<Footprint> measure_model(const ModelSource& source, device::Backend& backend,
                                const LoadOptions& options);

}  // namespace o3::model
