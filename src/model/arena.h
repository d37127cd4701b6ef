// SPDX-License-Identifier: Apache-2.0
// How the blocks of a model share one step's workspace.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/bytes.h"
#include "base/check.h"
#include "device/tensor_view.h"

namespace o3::model {

// Hands out F32 matrices from a span of scratch memory, front to back. A copy marks a scope: what
// is taken from the copy is free again when the copy is gone.
class Arena {
 public:
  static constexpr int64_t kAlignment = 64;  // what kernels may assume of every piece

  explicit Arena(std::span<std::byte> memory) noexcept : left_(memory) {}

  // Bytes that matrix(rows, cols) takes.
  static constexpr int64_t matrix_bytes(int64_t rows, int64_t cols) noexcept {
    return round_up(rows * cols * int64_t{sizeof(float)}, kAlignment);
  }

  device::TensorView matrix(int64_t rows, int64_t cols) noexcept {
    const auto bytes = static_cast<size_t>(matrix_bytes(rows, cols));
    O3_CHECK(bytes <= left_.size(), "workspace smaller than workspace_bytes() said");
    std::byte* data = left_.data();
    left_ = left_.subspan(bytes);
    return device::matrix_view(data, device::DType::kF32, rows, cols);
  }

  // What is left, for a kernel's own scratch.
  std::span<std::byte> rest() const noexcept { return left_; }

 private:
  std::span<std::byte> left_;
};

// Columns [begin, begin + count) of an F32 matrix, as a view with the same row stride.
inline device::TensorView columns(device::TensorView view, int64_t begin, int64_t count) noexcept {
  view.data += begin * int64_t{sizeof(float)};
  view.shape[1] = count;
  return view;
}

// The first `count` rows of a matrix.
inline device::TensorView first_rows(device::TensorView view, int64_t count) noexcept {
  view.shape[0] = count;
  return view;
}

}  // namespace o3::model
