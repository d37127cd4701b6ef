// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "device/backend.h"
#include "kernels/exec.h"
#include "model/model.h"

namespace o3::eval {

struct LogitsOptions {
  kernels::Compute compute = kernels::Compute::kFast;
  int32_t chunk = 512;  // prompt tokens per step
};

// Logits [rows.size()][vocabulary] of the given positions (ascending) of one sequence.
Result<std::vector<std::vector<float>>> sequence_logits(const model::Model& model,
                                                        device::Backend& backend,
                                                        std::span<const Token> tokens,
                                                        std::span<const int32_t> rows,
                                                        const LogitsOptions& options);

}  // namespace o3::eval
