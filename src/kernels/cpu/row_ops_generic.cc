// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "kernels/cpu/half.h"
#include "kernels/cpu/row_ops.h"

namespace o3::kernels::cpu::generic {

void rms_norm(const float* x, const float* weight, float eps, float* out, int64_t n) {
  double squares = 0;
  for (int64_t i = 0; i < n; ++i) squares += static_cast<double>(x[i]) * x[i];
  const double mean = squares / static_cast<double>(n);
  const auto inverse = static_cast<float>(1.0 / std::sqrt(mean + static_cast<double>(eps)));
  for (int64_t i = 0; i < n; ++i) out[i] = x[i] * inverse * weight[i];
}

void swiglu(const float* gate, const float* up, float* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) out[i] = gate[i] / (1.0F + std::exp(-gate[i])) * up[i];
}

void geglu(const float* gate, const float* up, float* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    const float g = gate[i];
    // sqrt(2/pi) (g + 0.044715 g^3), twice and negated
    const float exponent = g * (-1.59576912F - 0.0713548163F * g * g);
    out[i] = g / (1.0F + std::exp(exponent)) * up[i];
  }
}

void softcap(float cap, float* x, int64_t n) {
  for (int64_t i = 0; i < n; ++i) x[i] = cap * std::tanh(x[i] / cap);
}

void rope_interleaved(float* head, const float* cos, const float* sin, int64_t pairs) {
  for (int64_t i = 0; i < pairs; ++i) {
    const float a = head[2 * i];
    const float b = head[2 * i + 1];
    head[2 * i] = a * cos[i] - b * sin[i];
    head[2 * i + 1] = a * sin[i] + b * cos[i];
  }
}

void rope_half(float* head, const float* cos, const float* sin, int64_t pairs) {
  for (int64_t i = 0; i < pairs; ++i) {
    const float a = head[i];
    const float b = head[i + pairs];
    head[i] = a * cos[i] - b * sin[i];
    head[i + pairs] = a * sin[i] + b * cos[i];
  }
}

void to_half(const float* x, uint16_t* out, int64_t n) {
  constexpr float kLargest = 65504.0F;
  for (int64_t i = 0; i < n; ++i) {
    out[i] = float_to_half(x[i] > kLargest ? kLargest : (x[i] < -kLargest ? -kLargest : x[i]));
  }
}

}  // namespace o3::kernels::cpu::generic
