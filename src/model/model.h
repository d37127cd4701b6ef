// SPDX-License-Identifier: Apache-2.0
// A model is const after loading and thread-compatible; everything a step needs is passed in.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "base/ids.h"
#include "base/result.h"
#include "cache/cache_spec.h"
#include "kernels/attention.h"
#include "kernels/exec.h"
#include "kernels/rope.h"
#include "model/model_config.h"

namespace o3::model {

// The rows of one step: sequences side by side, prefill chunks and decode rows mixed.
struct BatchView {
  std::span<const Token> tokens;                 // [n]
  std::span<const kernels::Position> positions;  // [n]
  // One entry per sequence for each KV group: sequences[group][sequence].
  std::span<const std::span<const kernels::AttnSequence>> sequences;
  std::span<const int32_t> logit_rows;  // batch rows whose logits are wanted, ascending
};

// Pool memory as the model sees it.
struct KvView {
  std::byte* pool = nullptr;
  const cache::PageLayout* layout = nullptr;
};

class Model {
 public:
  virtual ~Model() = default;
  virtual const ModelConfig& config() const noexcept = 0;
  virtual std::span<const cache::CacheSpec> cache_specs() const noexcept = 0;  // one per layer
  virtual int64_t weight_bytes() const noexcept = 0;  // bytes of weights touched by one decode step
  virtual int64_t workspace_bytes(int64_t rows, int64_t logit_rows) const = 0;

  // Appends the batch's K/V to the cache and writes logits (F32, [logit_rows.size(), vocabulary]).
  virtual Result<void> forward(const BatchView& batch, const KvView& kv, kernels::TensorView logits,
                               kernels::ExecCtx& ctx) const = 0;
};

struct LoadOptions {
  kernels::Compute compute = kernels::Compute::kFast;
  device::DType kv_dtype = device::DType::kF16;
};

}  // namespace o3::model
