// SPDX-License-Identifier: Apache-2.0
// For files compiled with ISA flags only. Their inner functions keep arrays of registers, which
// stay in registers only if every loop over them is unrolled and every call inlined; g++ 12 does
// neither of itself at this size.
#pragma once

#include <cstdint>

#define O3_INLINE inline __attribute__((always_inline))
#if defined(__clang__)
#define O3_UNROLL _Pragma("unroll")
#else
#define O3_UNROLL _Pragma("GCC unroll 16")
#endif

namespace o3::kernels::cpu {
namespace {  // NOLINT: each ISA file must get its own copy

// Streaming reads ask for what comes this much later: hardware prefetchers start anew at every
// 4 KiB page and leave a third of the bandwidth of one core unused (measured: 25 to 35 GB/s).
constexpr int64_t kPrefetchAhead = 6144;

// Asks for the cache lines of [at, at + kBytes); addresses past the end of the data do no harm.
template <int kBytes>
O3_INLINE void prefetch(const uint8_t* at) {
  O3_UNROLL
  for (int line = 0; line < (kBytes + 63) / 64; ++line) __builtin_prefetch(at + 64 * line, 0, 3);
}

}  // namespace
}  // namespace o3::kernels::cpu
