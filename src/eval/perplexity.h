// SPDX-License-Identifier: Apache-2.0
// Perplexity of a model on one long token sequence, window by window.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>

#include "base/ids.h"
#include "base/result.h"
#include "device/backend.h"
#include "kernels/exec.h"
#include "model/model.h"

namespace o3::eval {

enum class WindowBos : uint8_t { kNone, kReplace };

struct PerplexityOptions {
  int32_t window = 512;              // W: tokens per window, at least 2; only whole windows count
  int32_t stride = 512;              // S: windows start every S tokens, each from an empty cache
  int32_t skip = 256;                // K: predictions at positions K .. W-2 of a window are scored
  WindowBos bos = WindowBos::kNone;  // kReplace: BOS in place of a window's first token
  int64_t windows = 0;               // as many at most; 0: all
  kernels::Compute compute = kernels::Compute::kFast;
};

struct PerplexityResult {
  double ppl = 0.0;
  double nll = 0.0;  // mean over the scored predictions, nats
  int64_t tokens = 0;
  int64_t scored = 0;
  int64_t windows = 0;
};

// After each window; false stops the evaluation (kCancelled).
using PerplexityProgress = std::function<bool(const PerplexityResult& so_far, int64_t windows)>;

// `bos` is needed for WindowBos::kReplace only. kInvalid: options out of range, a token outside
// the vocabulary, less than one window of tokens. kTooLong: the window exceeds the context.
Result<PerplexityResult> perplexity(const model::Model& model, device::Backend& backend,
                                    std::span<const Token> tokens, std::optional<Token> bos,
                                    const PerplexityOptions& options,
                                    const PerplexityProgress& progress);

// What `o3 eval ppl --json` prints.
nlohmann::ordered_json to_json(const PerplexityOptions& options, const PerplexityResult& result);

}  // namespace o3::eval
