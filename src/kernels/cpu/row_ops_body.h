// SPDX-License-Identifier: Apache-2.0
// Row ops over a vector type (Vec of math_*.h); only for ISA files, hence the anonymous namespace.
#pragma once

#include <cstdint>

#include "kernels/cpu/isa_code.h"

namespace o3::kernels::cpu {
namespace {  // NOLINT: each ISA file must get its own copy

// body(offset, count) for n elements, count being kLanes but for the last.
template <class V, class Body>
O3_INLINE void for_lanes(int64_t n, const Body& body) {
  int64_t i = 0;
  for (; i + V::kLanes <= n; i += V::kLanes) body(i, int64_t{V::kLanes});
  if (i < n) body(i, n - i);
}

template <class V>
void rms_norm_body(const float* x, const float* weight, float eps, float* out, int64_t n) {
  typename V::Squares squares = V::no_squares();
  for_lanes<V>(n, [&](int64_t i, int64_t count) {
    squares = V::add_squares(V::load_first(x + i, count, 0.0F), squares);
  });
  const double mean = V::reduce_squares(squares) / static_cast<double>(n);
  const auto inverse = static_cast<float>(1.0 / __builtin_sqrt(mean + static_cast<double>(eps)));
  for_lanes<V>(n, [&](int64_t i, int64_t count) {
    const auto scaled = V::mul(V::load_first(x + i, count, 0.0F), V::set1(inverse));
    V::store_first(out + i, count, V::mul(scaled, V::load_first(weight + i, count, 0.0F)));
  });
}

template <class V>
void swiglu_body(const float* gate, const float* up, float* out, int64_t n) {
  for_lanes<V>(n, [&](int64_t i, int64_t count) {
    const auto g = V::load_first(gate + i, count, 0.0F);
    const auto e = V::exp(V::sub(V::zero(), g));
    const auto silu = V::div(g, V::add(V::set1(1.0F), e));
    V::store_first(out + i, count, V::mul(silu, V::load_first(up + i, count, 0.0F)));
  });
}

// With u = sqrt(2/pi) (g + 0.044715 g^3): g (1 + tanh u) / 2 = g / (1 + e^-2u).
template <class V>
void geglu_body(const float* gate, const float* up, float* out, int64_t n) {
  for_lanes<V>(n, [&](int64_t i, int64_t count) {
    const auto g = V::load_first(gate + i, count, 0.0F);
    const auto cubic = V::fmadd(V::mul(g, g), V::set1(-0.0713548163F), V::set1(-1.59576912F));
    const auto gelu = V::div(g, V::add(V::set1(1.0F), V::exp(V::mul(g, cubic))));
    V::store_first(out + i, count, V::mul(gelu, V::load_first(up + i, count, 0.0F)));
  });
}

// tanh(x) = 1 - 2 / (e^2x + 1)
template <class V>
void softcap_body(float cap, float* x, int64_t n) {
  for_lanes<V>(n, [&](int64_t i, int64_t count) {
    const auto v = V::load_first(x + i, count, 0.0F);
    const auto e = V::exp(V::mul(v, V::set1(2.0F / cap)));
    const auto below = V::div(V::set1(2.0F), V::add(e, V::set1(1.0F)));
    V::store_first(x + i, count, V::mul(V::set1(cap), V::sub(V::set1(1.0F), below)));
  });
}

template <class V>
void rope_half_body(float* head, const float* cos, const float* sin, int64_t pairs) {
  for_lanes<V>(pairs, [&](int64_t i, int64_t count) {
    const auto a = V::load_first(head + i, count, 0.0F);
    const auto b = V::load_first(head + pairs + i, count, 0.0F);
    const auto c = V::load_first(cos + i, count, 0.0F);
    const auto s = V::load_first(sin + i, count, 0.0F);
    V::store_first(head + i, count, V::fmsub(a, c, V::mul(b, s)));
    V::store_first(head + pairs + i, count, V::fmadd(a, s, V::mul(b, c)));
  });
}

template <class V>
void to_half_body(const float* x, uint16_t* out, int64_t n) {
  for_lanes<V>(n, [&](int64_t i, int64_t count) {
    const auto v = V::load_first(x + i, count, 0.0F);
    // The order of the operands keeps NaN.
    const auto bounded = V::max(V::set1(-65504.0F), V::min(V::set1(65504.0F), v));
    V::store_half_first(out + i, count, bounded);
  });
}

}  // namespace
}  // namespace o3::kernels::cpu
