// SPDX-License-Identifier: Apache-2.0
#include "kernels/testing/tensors.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "base/check.h"
#include "kernels/cpu/half.h"

namespace o3::kernels::testing {
namespace {

void put_half(std::byte* at, float value) {
  const uint16_t half = cpu::float_to_half(value);
  std::memcpy(at, &half, sizeof half);
}

// Where a type's blocks have their F16 scale and minimum (-1: none), and what they are for a weight
// of about `deviation` and a mean of zero: the scale divided by `divisor`, the minimum as a
// multiple of the scale.
struct RandomBlock {
  DType dtype;
  int d_at;
  float divisor;
  int m_at;
  float m_factor;
};
constexpr std::array kRandomBlocks{
    RandomBlock{DType::kQ4_0, 0, 1, -1, 0},     RandomBlock{DType::kQ4_1, 0, 1, 2, -7.3F},
    RandomBlock{DType::kQ5_0, 0, 1, -1, 0},     RandomBlock{DType::kQ5_1, 0, 1, 2, -15.1F},
    RandomBlock{DType::kQ8_0, 0, 16, -1, 0},    RandomBlock{DType::kQ2_K, 80, 2, 82, 1.5F},
    RandomBlock{DType::kQ3_K, 108, 16, -1, 0},  RandomBlock{DType::kQ4_K, 0, 32, 2, 7.5F},
    RandomBlock{DType::kQ5_K, 0, 64, 2, 15.5F}, RandomBlock{DType::kQ6_K, 208, 256, -1, 0},
    RandomBlock{DType::kIQ4_NL, 0, 16, -1, 0},
};

const RandomBlock& shape_of(DType dtype) {
  const auto* shape = std::find_if(kRandomBlocks.begin(), kRandomBlocks.end(),
                                   [=](const RandomBlock& row) { return row.dtype == dtype; });
  O3_CHECK(shape != kRandomBlocks.end(), "a quantised dtype");
  return *shape;
}

void random_block(Rng& rng, DType dtype, std::byte* block) {
  std::uniform_real_distribution<float> scale(0.002F, 0.02F);
  std::uniform_int_distribution<int> byte(0, 255);
  const int32_t bytes = device::traits(dtype).block_bytes;
  for (int32_t i = 0; i < bytes; ++i) block[i] = static_cast<std::byte>(byte(rng));
  const RandomBlock& shape = shape_of(dtype);
  const float d = scale(rng) / shape.divisor;
  put_half(block + shape.d_at, d);
  if (shape.m_at >= 0) put_half(block + shape.m_at, shape.m_factor * d);
}

}  // namespace

Tensor::Tensor(DType dtype, int64_t rows, int64_t cols, int64_t extra_cols) : extra_(extra_cols) {
  view_ = device::matrix_view(nullptr, dtype, rows, cols);
  view_.row_stride += extra_cols * static_cast<int64_t>(sizeof(float));
  data_.resize(static_cast<size_t>(rows * view_.row_stride));
  view_.data = data_.data();
  if (dtype == DType::kF32) {
    std::fill_n(view_.row<float>(0), data_.size() / sizeof(float),
                std::numeric_limits<float>::quiet_NaN());
  }
}

bool Tensor::margin_untouched() const {
  for (int64_t row = 0; row < view_.rows(); ++row) {
    const auto* end = view_.row<const float>(row) + view_.cols();
    if (!std::all_of(end, end + extra_, [](float x) { return std::isnan(x); })) return false;
  }
  return true;
}

Tensor random_f32(Rng& rng, int64_t rows, int64_t cols, float deviation, int64_t extra_cols) {
  Tensor tensor(DType::kF32, rows, cols, extra_cols);
  std::normal_distribution<float> normal(0.0F, deviation);
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < cols; ++c) tensor.at(r, c) = normal(rng);
  }
  return tensor;
}

Tensor random_weights(Rng& rng, DType dtype, int64_t out, int64_t in) {
  if (dtype == DType::kF32) return random_f32(rng, out, in, 0.05F);
  Tensor tensor(dtype, out, in);
  std::normal_distribution<float> normal(0.0F, 0.05F);
  const device::DTypeTraits& t = device::traits(dtype);
  for (int64_t r = 0; r < out; ++r) {
    auto* row = tensor.view().row<std::byte>(r);
    for (int64_t b = 0; b < in / t.block_elements; ++b) {
      std::byte* at = row + b * t.block_bytes;
      if (t.quantized) {
        random_block(rng, dtype, at);
      } else if (dtype == DType::kF16) {
        put_half(at, normal(rng));
      } else {
        const float value = normal(rng);  // BF16 is the upper half of a float
        std::memcpy(at, reinterpret_cast<const std::byte*>(&value) + 2, 2);
      }
    }
  }
  return tensor;
}

Tensor with_quants(const Tensor& w, std::byte fill) {
  const device::DTypeTraits& t = device::traits(w.view().dtype);
  const RandomBlock& shape = shape_of(w.view().dtype);
  Tensor filled(w.view().dtype, w.view().rows(), w.view().cols());
  const int64_t bytes = w.view().rows() * w.view().row_stride;
  for (int64_t i = 0; i < bytes; ++i) {
    const auto at = static_cast<int>(i % t.block_bytes);
    const bool d = at / 2 == shape.d_at / 2;
    const bool m = shape.m_at >= 0 && at / 2 == shape.m_at / 2;
    filled.view().data[i] = d || m ? w.view().data[i] : fill;
  }
  return filled;
}

std::unique_ptr<device::cpu::CpuBackend> make_backend(device::cpu::Isa isa, int threads) {
  auto backend = device::cpu::CpuBackend::create({.threads = threads, .isa = isa});
  O3_CHECK(backend.ok(), "the ISA is one of available_isas()");
  return *std::move(backend);
}

Workspace::Workspace(device::Backend& backend, int64_t bytes) {
  auto buffer = backend.allocate(static_cast<size_t>(bytes), device::MemTag::kWorkspace);
  O3_CHECK(buffer.ok(), "workspace");
  buffer_ = *std::move(buffer);
}

std::vector<LinearCase> small_linear_cases() {
  std::vector<LinearCase> cases;
  for (const DType dtype : {DType::kQ4_0, DType::kQ4_1, DType::kQ8_0}) {
    cases.push_back({dtype, 1, 32, 1});
    cases.push_back({dtype, 16, 64, 2});
    cases.push_back({dtype, 17, 96, 3});
    cases.push_back({dtype, 40, 160, 11});
    cases.push_back({dtype, 64, 576, 19});
    cases.push_back({dtype, 33, 1536, 4});
    cases.push_back({dtype, 24, 64, 300});  // more rows than one task takes
  }
  for (const DType dtype : {DType::kQ5_0, DType::kQ5_1, DType::kIQ4_NL}) {
    cases.push_back({dtype, 1, 32, 1});
    cases.push_back({dtype, 17, 96, 3});
    cases.push_back({dtype, 40, 1120, 19});
    cases.push_back({dtype, 24, 64, 300});
  }
  for (const DType dtype : {DType::kQ2_K, DType::kQ3_K, DType::kQ4_K, DType::kQ5_K, DType::kQ6_K}) {
    cases.push_back({dtype, 1, 256, 1});
    cases.push_back({dtype, 17, 768, 3});
    cases.push_back({dtype, 40, 1280, 19});  // more blocks than are unpacked at once
    cases.push_back({dtype, 24, 256, 300});
  }
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16}) {
    cases.push_back({dtype, 1, 1, 1});
    cases.push_back({dtype, 19, 37, 5});
    cases.push_back({dtype, 48, 200, 17});
    cases.push_back({dtype, 35, 64, 8});
  }
  return cases;
}

std::vector<LinearCase> model_linear_cases() {
  std::vector<LinearCase> cases;
  for (const int64_t rows : {1, 4, 16, 512}) {
    cases.push_back({DType::kQ4_1, 960, 576, rows});   // q, k, v
    cases.push_back({DType::kQ4_1, 576, 576, rows});   // attention output
    cases.push_back({DType::kQ4_1, 3072, 576, rows});  // gate, up
    cases.push_back({DType::kQ4_1, 576, 1536, rows});  // down
  }
  cases.push_back({DType::kQ8_0, 49152, 576, 1});  // logits
  cases.push_back({DType::kQ8_0, 49152, 576, 16});
  return cases;
}

std::vector<LinearCase> format_linear_cases() {
  std::vector<LinearCase> cases;
  for (const int64_t rows : {1, 512}) {
    for (const RandomBlock& block : kRandomBlocks) cases.push_back({block.dtype, 2048, 2048, rows});
  }
  return cases;
}

std::string name_of(const LinearCase& c) {
  return std::string(device::traits(c.dtype).name) + " " + std::to_string(c.out) + "x" +
         std::to_string(c.in) + " n=" + std::to_string(c.rows);
}

}  // namespace o3::kernels::testing
