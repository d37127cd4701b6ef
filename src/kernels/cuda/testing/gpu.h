// SPDX-License-Identifier: Apache-2.0
// For tests of kernels: a GPU, or a skip that says why; tensors there and back.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <memory>
#include <vector>

#include "device/cuda/cuda_backend.h"
#include "kernels/cpu/half.h"
#include "kernels/ref/ops.h"
#include "kernels/testing/tensors.h"

namespace o3::kernels::cuda {

class GpuTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto made = device::cuda::CudaBackend::create({});
    if (!made.ok()) GTEST_SKIP() << made.error().message;
    gpu_ = *std::move(made);
  }

  template <class T>
  T* upload(const std::vector<T>& values) {
    auto* to = reserve<T>(values.size());
    copy(to, values.data(), values.size() * sizeof(T));
    return to;
  }
  // Poisoned: every byte 0xff, which is NaN in every float type.
  template <class T>
  T* reserve(size_t count) {
    auto buffer = gpu_->allocate(count * sizeof(T) + 64, device::MemTag::kWorkspace);
    O3_CHECK(buffer.ok(), "a test fits the GPU");
    auto* to = reinterpret_cast<T*>(buffer->data());
    const std::vector<std::byte> poison(buffer->bytes(), std::byte{0xff});
    copy(to, poison.data(), poison.size());
    buffers_.push_back(*std::move(buffer));
    return to;
  }
  template <class T>
  std::vector<T> download(const T* from, size_t count) {
    std::vector<T> values(count);
    copy(values.data(), from, count * sizeof(T));
    return values;
  }
  void copy(void* to, const void* from, size_t bytes) {
    const auto copied = gpu_->copy_to_host(to, from, bytes);
    O3_CHECK(copied.ok(), copied.ok() ? "" : copied.error().message.c_str());
  }
  void finish() {
    const auto launched = gpu_->check_launches();
    ASSERT_TRUE(launched.ok()) << launched.error().message;
    const auto done = gpu_->synchronize();
    ASSERT_TRUE(done.ok()) << done.error().message;
  }
  const device::cuda::Stream& stream() const { return gpu_->stream(); }

  std::unique_ptr<device::cuda::CudaBackend> gpu_;
  std::vector<device::Buffer> buffers_;
};

// 16-bit numbers of either type as raw bits.
inline uint16_t to_bits(DType dtype, float value) {
  if (dtype == DType::kF16) return cpu::float_to_half(value);
  uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  bits += 0x7fffU + ((bits >> 16U) & 1U);  // to nearest even
  return static_cast<uint16_t>(bits >> 16U);
}
inline float from_bits(DType dtype, uint16_t bits) {
  if (dtype == DType::kF16) return cpu::half_to_float(bits);
  const uint32_t wide = uint32_t{bits} << 16U;
  float value = 0;
  std::memcpy(&value, &wide, sizeof value);
  return value;
}

// Random numbers that `dtype` holds exactly, and their bits.
struct Numbers {
  ref::Matrix values;
  std::vector<uint16_t> bits;
};
inline Numbers random_numbers(testing::Rng& rng, DType dtype, int64_t rows, int64_t cols,
                              float deviation = 1.0F) {
  Numbers made{ref::Matrix(rows, cols), {}};
  std::normal_distribution<float> normal(0.0F, deviation);
  made.bits.reserve(static_cast<size_t>(rows * cols));
  for (double& value : made.values.data) {
    const uint16_t bits = to_bits(dtype, normal(rng));
    made.bits.push_back(bits);
    value = double{from_bits(dtype, bits)};
  }
  return made;
}
inline ref::Matrix matrix_of(DType dtype, const std::vector<uint16_t>& bits, int64_t rows,
                             int64_t cols) {
  ref::Matrix made(rows, cols);
  for (size_t i = 0; i < bits.size(); ++i) made.data[i] = double{from_bits(dtype, bits[i])};
  return made;
}
inline std::vector<float> random_floats(testing::Rng& rng, size_t count, float deviation = 1.0F) {
  std::vector<float> values(count);
  std::normal_distribution<float> normal(0.0F, deviation);
  for (float& value : values) value = normal(rng);
  return values;
}
inline ref::Matrix matrix_of(const std::vector<float>& values, int64_t rows, int64_t cols) {
  ref::Matrix made(rows, cols);
  for (size_t i = 0; i < values.size(); ++i) made.data[i] = double{values[i]};
  return made;
}

// The value of an E4M3: 4 bits of exponent (bias 7), 3 of fraction; 0x7f and 0xff are NaN.
inline float from_e4m3(uint8_t bits) {
  const int exponent = bits >> 3U & 15U;
  const auto fraction = static_cast<float>(bits & 7U);
  if ((bits & 0x7fU) == 0x7fU) return std::nanf("");
  const float value =
      exponent == 0 ? std::ldexp(fraction, -9) : std::ldexp(8.0F + fraction, exponent - 10);
  return (bits & 0x80U) != 0 ? -value : value;
}
// Random E4M3 of usual sizes, and their values.
struct SmallNumbers {
  ref::Matrix values;
  std::vector<uint8_t> bits;
};
inline SmallNumbers random_e4m3(testing::Rng& rng, int64_t rows, int64_t cols) {
  SmallNumbers made{ref::Matrix(rows, cols), {}};
  std::uniform_int_distribution<unsigned> bits(0, 255);
  for (double& value : made.values.data) {
    const unsigned drawn = bits(rng);
    const auto own = static_cast<uint8_t>((drawn & 0x78U) == 0x78U ? drawn & 0x87U : drawn);
    made.bits.push_back(own);
    value = double{from_e4m3(own)};
  }
  return made;
}
// E4M3 with a scale per row.
inline ref::Matrix matrix_of(const std::vector<uint8_t>& bits, const std::vector<float>& scales,
                             int64_t rows, int64_t cols) {
  ref::Matrix made(rows, cols);
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < cols; ++c) {
      made.at(r, c) = double{from_e4m3(bits[static_cast<size_t>(r * cols + c)])} *
                      double{scales[static_cast<size_t>(r)]};
    }
  }
  return made;
}

// |a - b| / |b|; NaN when anything is.
inline double distance(const ref::Matrix& a, const ref::Matrix& b) {
  double error = 0;
  double norm = 0;
  for (size_t i = 0; i < b.data.size(); ++i) {
    error += (a.data[i] - b.data[i]) * (a.data[i] - b.data[i]);
    norm += b.data[i] * b.data[i];
  }
  return std::sqrt(error / std::max(norm, 1e-300));
}

// Half a unit in the last place, relative: what rounding a result to `dtype` costs at most.
inline double rounding(DType dtype) {
  return dtype == DType::kF16 ? 0x1p-11 : 0x1p-8;
}

}  // namespace o3::kernels::cuda
