// SPDX-License-Identifier: Apache-2.0
// For files compiled with ISA flags only. Their inner functions keep arrays of registers, which
// stay in registers only if every loop over them is unrolled and every call inlined; g++ 12 does
// neither of itself at this size.
#pragma once

#define O3_INLINE inline __attribute__((always_inline))
#if defined(__clang__)
#define O3_UNROLL _Pragma("unroll")
#else
#define O3_UNROLL _Pragma("GCC unroll 16")
#endif
