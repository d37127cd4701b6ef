// SPDX-License-Identifier: Apache-2.0
// How fast a model runs on this machine: the core of `o3 bench --model`.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "device/backend.h"
#include "kernels/exec.h"
#include "model/model.h"

namespace o3::eval {

struct SpeedOptions {
  int32_t prefill = 512;    // prompt tokens of each sequence
  int32_t decode = 64;      // steps measured
  int32_t batch = 1;        // sequences side by side
  int32_t context = 0;      // tokens in each cache when decoding starts; 0: `prefill`
  int32_t step_rows = 512;  // most prompt tokens in one step
  int32_t repeats = 5;      // medians are taken over these; one more runs first to warm up
  kernels::Compute compute = kernels::Compute::kFast;
};

// What the caller knows and the report repeats.
struct SpeedSetup {
  std::string device{};  // for people
  int32_t threads = 0;   // of a CPU
  std::string isa;
  std::string kv;           // "f16", "f32"
  int64_t model_bytes = 0;  // size of the model file
  bool deterministic = false;
};

// Seconds to choose one token from a row of the model's vocabulary, medians; one thread.
struct SamplingSpeed {
  double copy_s = 0.0;  // of the row: its memory traffic, for comparison
  double greedy_s = 0.0;
  double plain_s = 0.0;      // temperature alone
  double truncated_s = 0.0;  // top-k 50, top-p 0.95
  double nucleus_s = 0.0;    // top-p 0.95, min-p 0.05
  double edited_s = 0.0;     // the last, with penalties of 1,000 tokens and a bias of 100
};
SamplingSpeed measure_sampling(int32_t vocabulary, const Clock& clock);

struct SpeedResult {
  double prefill_tokens_per_s = 0.0;  // all sequences together
  double decode_tokens_per_s = 0.0;   // all sequences together
  double decode_step_s = 0.0;
  double read_gb_per_s = 0.0;  // 10^9 bytes of weights and KV read per decode step / step time
  int64_t step_bytes = 0;      // those bytes, mean over the steps
  // Slowest and fastest repeat, for judging how quiet the machine was.
  double prefill_min = 0.0;
  double prefill_max = 0.0;
  double decode_min = 0.0;
  double decode_max = 0.0;
  SamplingSpeed sampling;
};

// Feeds pseudo-random tokens (the arithmetic does not depend on them) and takes no samples; logits
// of every decoded row are computed. `keep_going` is asked between steps; false gives kCancelled.
Result<SpeedResult> measure_speed(const model::Model& model, device::Backend& backend,
                                  const Clock& clock, const SpeedOptions& options,
                                  const std::function<bool()>& keep_going);

// What `o3 bench --json` prints.
nlohmann::ordered_json to_json(const SpeedSetup& setup, const SpeedOptions& options,
                               const SpeedResult& result);

}  // namespace o3::eval
