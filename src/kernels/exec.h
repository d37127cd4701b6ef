// SPDX-License-Identifier: Apache-2.0
// What every op gets beside its tensors. Passed explicitly; no thread-local or global context.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "device/backend.h"
#include "device/tensor_view.h"

namespace o3::kernels {

using device::DType;
using device::TensorView;

// kFast: what serving uses (8-bit or 16-bit activations allowed). kF32: packed weights dequantised
// on the fly, activations and accumulation in FP32.
enum class Compute : uint8_t { kFast, kF32 };

struct ExecCtx {
  device::Backend& backend;
  std::span<std::byte> workspace;  // scratch of the caller, 64-byte aligned; see *_workspace()
  Compute compute = Compute::kFast;
};

}  // namespace o3::kernels
