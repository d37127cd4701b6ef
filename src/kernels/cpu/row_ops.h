// SPDX-License-Identifier: Apache-2.0
// Row-wise CPU kernels on raw pointers; see linear_tile.h for the rule on ISA files.
#pragma once

#include <cstdint>

namespace o3::kernels::cpu {

struct RowOps {
  const char* name;
  // out[n] = x[n] / sqrt(mean(x^2) + eps) * weight[n]; out may be x.
  void (*rms_norm)(const float* x, const float* weight, float eps, float* out, int64_t n);
  // out[n] = silu(gate[n]) * up[n]
  void (*swiglu)(const float* gate, const float* up, float* out, int64_t n);
  // out[n] = gelu(gate[n]) * up[n], tanh form
  void (*geglu)(const float* gate, const float* up, float* out, int64_t n);
  // x[n] = cap * tanh(x[n] / cap)
  void (*softcap)(float cap, float* x, int64_t n);
  // Rotates `pairs` pairs of one head: (2i, 2i+1), or (i, i + pairs).
  void (*rope_interleaved)(float* head, const float* cos, const float* sin, int64_t pairs);
  void (*rope_half)(float* head, const float* cos, const float* sin, int64_t pairs);
  // F32 to F16, to nearest even; what F16 cannot hold becomes its largest value, so that an
  // overflow in the cache cannot turn into NaN for rows that do not even see it.
  void (*to_half)(const float* x, uint16_t* out, int64_t n);
};

namespace generic {
void rms_norm(const float* x, const float* weight, float eps, float* out, int64_t n);
void swiglu(const float* gate, const float* up, float* out, int64_t n);
void geglu(const float* gate, const float* up, float* out, int64_t n);
void softcap(float cap, float* x, int64_t n);
void rope_interleaved(float* head, const float* cos, const float* sin, int64_t pairs);
void rope_half(float* head, const float* cos, const float* sin, int64_t pairs);
void to_half(const float* x, uint16_t* out, int64_t n);
}  // namespace generic
namespace avx2 {
void rms_norm(const float* x, const float* weight, float eps, float* out, int64_t n);
void swiglu(const float* gate, const float* up, float* out, int64_t n);
void geglu(const float* gate, const float* up, float* out, int64_t n);
void softcap(float cap, float* x, int64_t n);
void rope_interleaved(float* head, const float* cos, const float* sin, int64_t pairs);
void rope_half(float* head, const float* cos, const float* sin, int64_t pairs);
void to_half(const float* x, uint16_t* out, int64_t n);
}  // namespace avx2
namespace avx512 {
void rms_norm(const float* x, const float* weight, float eps, float* out, int64_t n);
void swiglu(const float* gate, const float* up, float* out, int64_t n);
void geglu(const float* gate, const float* up, float* out, int64_t n);
void softcap(float cap, float* x, int64_t n);
void rope_interleaved(float* head, const float* cos, const float* sin, int64_t pairs);
void rope_half(float* head, const float* cos, const float* sin, int64_t pairs);
void to_half(const float* x, uint16_t* out, int64_t n);
}  // namespace avx512

}  // namespace o3::kernels::cpu
