// SPDX-License-Identifier: Apache-2.0
#include "kernels/ref/ops.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "kernels/elementwise.h"

namespace o3::kernels::ref {

Matrix from_view(TensorView view) {
  Matrix out(view.rows(), view.cols());
  std::vector<float> row(static_cast<size_t>(view.cols()));
  for (int64_t r = 0; r < out.rows; ++r) {
    dequantize_row(view.dtype, view.row<const std::byte>(r), row.data(), out.cols);
    for (int64_t c = 0; c < out.cols; ++c) out.at(r, c) = row[static_cast<size_t>(c)];
  }
  return out;
}

Product linear(const Matrix& x, const Matrix& w) {
  Product product{Matrix(x.rows, w.rows), Matrix(x.rows, w.rows)};
  for (int64_t r = 0; r < x.rows; ++r) {
    for (int64_t o = 0; o < w.rows; ++o) {
      double sum = 0;
      double magnitude = 0;
      for (int64_t i = 0; i < x.cols; ++i) {
        sum += x.at(r, i) * w.at(o, i);
        magnitude += std::fabs(x.at(r, i) * w.at(o, i));
      }
      product.y.at(r, o) = sum;
      product.magnitude.at(r, o) = magnitude;
    }
  }
  return product;
}

Matrix quantize_activations(const Matrix& x) {
  constexpr int64_t kBlock = 32;
  Matrix out(x.rows, x.cols);
  for (int64_t r = 0; r < x.rows; ++r) {
    for (int64_t first = 0; first < x.cols; first += kBlock) {
      auto least = static_cast<float>(x.at(r, first));
      float most = least;
      for (int64_t i = first; i < first + kBlock; ++i) {
        least = std::min(least, static_cast<float>(x.at(r, i)));
        most = std::max(most, static_cast<float>(x.at(r, i)));
      }
      const float center = 0.5F * most + 0.5F * least;
      const float span = 0.5F * most - 0.5F * least;
      for (int64_t i = first; i < first + kBlock; ++i) {
        const float offset = static_cast<float>(x.at(r, i)) - center;
        const float q = span == 0 ? 0 : std::nearbyint(offset * (127.0F / span));
        out.at(r, i) = center + static_cast<double>(span / 127.0F) * q;
      }
    }
  }
  return out;
}

Matrix rms_norm(const Matrix& x, const Matrix& weight, double eps) {
  Matrix out(x.rows, x.cols);
  for (int64_t r = 0; r < x.rows; ++r) {
    double squares = 0;
    for (int64_t c = 0; c < x.cols; ++c) squares += x.at(r, c) * x.at(r, c);
    const double norm = std::sqrt(squares / static_cast<double>(x.cols) + eps);
    for (int64_t c = 0; c < x.cols; ++c) out.at(r, c) = x.at(r, c) / norm * weight.at(0, c);
  }
  return out;
}

Matrix swiglu(const Matrix& gate_up) {
  const int64_t f = gate_up.cols / 2;
  Matrix out(gate_up.rows, f);
  for (int64_t r = 0; r < out.rows; ++r) {
    for (int64_t c = 0; c < f; ++c) {
      const double gate = gate_up.at(r, c);
      out.at(r, c) = gate / (1.0 + std::exp(-gate)) * gate_up.at(r, f + c);
    }
  }
  return out;
}

Matrix geglu(const Matrix& gate_up) {
  const int64_t f = gate_up.cols / 2;
  Matrix out(gate_up.rows, f);
  for (int64_t r = 0; r < out.rows; ++r) {
    for (int64_t c = 0; c < f; ++c) {
      const double g = gate_up.at(r, c);
      const double u = std::sqrt(2.0 / std::numbers::pi) * (g + 0.044715 * g * g * g);
      // g (1 + tanh u) / 2, which would cancel far down the tail
      out.at(r, c) = g / (1.0 + std::exp(-2.0 * u)) * gate_up.at(r, f + c);
    }
  }
  return out;
}

Matrix rms_norm_heads(const Matrix& x, int32_t heads, const Matrix& weight, double eps) {
  Matrix out = x;
  for (int64_t r = 0; r < x.rows; ++r) {
    for (int64_t head = 0; head < heads; ++head) {
      Matrix part(1, weight.cols);
      for (int64_t c = 0; c < part.cols; ++c) part.at(0, c) = x.at(r, head * part.cols + c);
      part = rms_norm(part, weight, eps);
      for (int64_t c = 0; c < part.cols; ++c) out.at(r, head * part.cols + c) = part.at(0, c);
    }
  }
  return out;
}

Matrix softcap(const Matrix& x, double cap) {
  Matrix out = x;
  for (double& value : out.data) value = cap * std::tanh(value / cap);
  return out;
}

Matrix rope(const RopeParams& params, std::span<const Position> positions, const Matrix& x,
            int32_t heads, int32_t head_dim) {
  Matrix out = x;
  const int32_t pairs = params.dim / 2;
  for (int64_t r = 0; r < x.rows; ++r) {
    for (int32_t head = 0; head < heads; ++head) {
      for (int32_t i = 0; i < pairs; ++i) {
        const double angle =
            positions[static_cast<size_t>(r)][0] * std::pow(params.base, -2.0 * i / params.dim);
        const bool half = params.style == RopeStyle::kHalf;
        const int64_t first = int64_t{head} * head_dim + (half ? i : 2 * i);
        const int64_t second = first + (half ? pairs : 1);
        out.at(r, first) = x.at(r, first) * std::cos(angle) - x.at(r, second) * std::sin(angle);
        out.at(r, second) = x.at(r, first) * std::sin(angle) + x.at(r, second) * std::cos(angle);
      }
    }
  }
  return out;
}

Matrix attention(const AttnDesc& desc, int32_t kv_heads, const Matrix& q, const Matrix& k,
                 const Matrix& v) {
  const int64_t dim = q.cols / desc.heads;
  Matrix out(q.rows, q.cols);
  for (int64_t r = 0; r < q.rows; ++r) {
    const int64_t high = k.rows - q.rows + r + 1;
    const int64_t low = desc.window > 0 ? std::max<int64_t>(0, high - desc.window) : 0;
    for (int64_t head = 0; head < desc.heads; ++head) {
      const int64_t kv_at = head / (desc.heads / kv_heads) * dim;
      std::vector<double> scores;
      for (int64_t t = low; t < high; ++t) {
        double dot = 0;
        for (int64_t i = 0; i < dim; ++i) dot += q.at(r, head * dim + i) * k.at(t, kv_at + i);
        double s = dot * static_cast<double>(desc.scale);
        const auto cap = static_cast<double>(desc.softcap);
        if (cap > 0) s = cap * std::tanh(s / cap);
        scores.push_back(s);
      }
      const double largest = *std::max_element(scores.begin(), scores.end());
      double sum = 0;
      for (double& s : scores) sum += s = std::exp(s - largest);
      for (int64_t i = 0; i < dim; ++i) {
        double value = 0;
        for (int64_t t = low; t < high; ++t) {
          value += scores[static_cast<size_t>(t - low)] * v.at(t, kv_at + i);
        }
        out.at(r, head * dim + i) = value / sum;
      }
    }
  }
  return out;
}

}  // namespace o3::kernels::ref
