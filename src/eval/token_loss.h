// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "base/ids.h"
#include "device/backend.h"
#include "kernels/exec.h"

namespace o3::eval {

// losses[i] = -log softmax(logits[i])[targets[i]], in nats. logits: F32, host memory. The
// exponentials are taken in FP32 (relative error below 3e-7 each) after subtracting the maximum,
// their sum and the logarithm in double, so that a loss is off by less than 1e-6. Rows are shared
// out over the threads of a CPU backend. A NaN or -inf has no weight; the loss is not finite when
// it is the target's, when nothing in the row is finite, and beside a +inf.
void token_losses(kernels::TensorView logits, std::span<const Token> targets,
                  std::span<double> losses, device::Backend& backend);

}  // namespace o3::eval
