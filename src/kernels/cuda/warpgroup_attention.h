// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/cuda/attention.h"

namespace o3::kernels::cuda {

// prefill_attention() for heads of 64 and 128.
void warpgroup_attention(const AttentionArgs& args, const device::cuda::Stream& stream);

}  // namespace o3::kernels::cuda
