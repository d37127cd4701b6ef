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
  // [logit_rows.size()], or empty: zeros. Not zero where nobody looks at the logits if they are
  // told which is the largest (StepOutput::best): the runner may then leave them where they are.
  std::span<const uint8_t> best_is_enough{};
};

// Pool memory as the model sees it.
struct KvView {
  std::byte* pool = nullptr;
  const cache::PageLayout* layout = nullptr;
  uint32_t pages = 0;  // of the whole pool
};

// What a step gives, in host memory, valid until the next launch.
struct StepOutput {
  // F32 [logit_rows.size(), vocabulary]; the caller may overwrite it. Rows for which the best was
  // enough hold nothing when `best` is there.
  kernels::TensorView logits;
  // [logit_rows.size()]: the token of the largest finite logit, the lowest of equals, or -1 when no
  // logit is finite. Empty when the runner does not look for it.
  std::span<const Token> best;
};

// Runs steps of one model over one pool. Two halves, so that work of the calling thread overlaps
// the forward pass where the device is asynchronous. One thread; one step at a time.
class StepRunner {
 public:
  virtual ~StepRunner() = default;

  // Starts a step, which appends the batch's K/V to the cache. What the view points at must stay as
  // it is until collect() returns.
  virtual Result<void> launch(const BatchView& batch) = 0;
  // Waits for the launched step. An error means that the backend cannot be relied on.
  virtual Result<StepOutput> collect() = 0;
};

// The most that a runner's steps hold; everything is allocated for them (MemTag kWorkspace, kIo).
struct RunnerLimits {
  int32_t rows = 0;
  int32_t logit_rows = 0;
  int32_t sequences = 0;
  int32_t context = 0;  // tokens of one sequence
  kernels::Compute compute = kernels::Compute::kFast;
};

class Model {
 public:
  virtual ~Model() = default;
  virtual const ModelConfig& config() const noexcept = 0;
  virtual std::span<const cache::CacheSpec> cache_specs() const noexcept = 0;  // one per layer
  virtual int64_t weight_bytes() const noexcept = 0;  // bytes of weights touched by one decode step

  // The model, the backend (that it was loaded for) and the pool must outlive the runner.
  // kExhausted when the memory is not there.
  virtual Result<std::unique_ptr<StepRunner>> make_runner(const RunnerLimits& limits,
                                                          device::Backend& backend,
                                                          const KvView& kv) const = 0;
};

// A model whose kernels run on the calling thread, on memory that it can read.
class HostModel : public Model {
 public:
  virtual int64_t workspace_bytes(int64_t rows, int64_t logit_rows) const = 0;
  // Appends the batch's K/V to the cache and writes logits (F32, [logit_rows.size(), vocabulary]).
  virtual Result<void> forward(const BatchView& batch, const KvView& kv, kernels::TensorView logits,
                               kernels::ExecCtx& ctx) const = 0;

  Result<std::unique_ptr<StepRunner>> make_runner(const RunnerLimits& limits,
                                                  device::Backend& backend,
                                                  const KvView& kv) const final;
};

// How matrices are kept: as they are in the file (and packed for the device), or made smaller at
// load. kFp8: E4M3 with a scale per output channel, embedding and head as they are; GPUs only.
enum class WeightStorage : uint8_t { kAsInFile, kFp8 };

struct LoadOptions {
  kernels::Compute compute = kernels::Compute::kFast;
  device::DType kv_dtype = device::DType::kF16;
  WeightStorage weights = WeightStorage::kAsInFile;
};

}  // namespace o3::model
