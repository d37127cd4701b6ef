// SPDX-License-Identifier: Apache-2.0
// Every op once more in double precision, plain and unhurried: what the kernels are compared with.
// Not linked into the program.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/attention.h"
#include "kernels/rope.h"

namespace o3::kernels::ref {

// A dense row-major matrix.
struct Matrix {
  int64_t rows = 0;
  int64_t cols = 0;
  std::vector<double> data;

  Matrix(int64_t r, int64_t c) : rows(r), cols(c), data(static_cast<size_t>(r * c)) {}
  double& at(int64_t r, int64_t c) { return data[static_cast<size_t>(r * cols + c)]; }
  double at(int64_t r, int64_t c) const { return data[static_cast<size_t>(r * cols + c)]; }
};

Matrix from_view(TensorView view);  // any dtype that dequantize_row() knows

// A product and, per output, the sum of the magnitudes of its terms: rounding errors are
// proportional to it.
struct Product {
  Matrix y;
  Matrix magnitude;
};
// x[n, in] * w[out, in]^T
Product linear(const Matrix& x, const Matrix& w);
// What int8 activations stand for: per 32 values center + scale * q with the center of their range,
// scale = half the range / 127 and q rounded to nearest; each step rounded to float as the kernels
// do.
Matrix quantize_activations(const Matrix& x);

Matrix rms_norm(const Matrix& x, const Matrix& weight, double eps);
Matrix swiglu(const Matrix& gate_up);
Matrix geglu(const Matrix& gate_up);
Matrix rms_norm_heads(const Matrix& x, int32_t heads, const Matrix& weight, double eps);
Matrix softcap(const Matrix& x, double cap);
Matrix rope(const RopeParams& params, std::span<const Position> positions, const Matrix& x,
            int32_t heads, int32_t head_dim);

// Attention of one sequence over dense keys and values [kv_len, kv_heads * head_dim]; q holds the
// last q.rows positions.
Matrix attention(const AttnDesc& desc, int32_t kv_heads, const Matrix& q, const Matrix& k,
                 const Matrix& v);

}  // namespace o3::kernels::ref
