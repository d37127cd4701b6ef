// SPDX-License-Identifier: Apache-2.0
// Kernels that only show what the device can do.
#pragma once

#include <cstdint>

#include "device/cuda/stream.h"

namespace o3::kernels::cuda {

// Reads `bytes` (a multiple of 16) once, without keeping them in any cache; `sink` is one word of
// device memory that is practically never written.
void read_all(const void* from, int64_t bytes, uint32_t* sink, const device::cuda::Stream& stream);

// Fills 16-bit words with numbers of about `deviation`, the same for the same seed.
void fill_random(device::cuda::Stream stream, void* to, int64_t words, bool bf16, float deviation,
                 uint32_t seed);

}  // namespace o3::kernels::cuda
