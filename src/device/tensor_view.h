// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "device/dtype.h"

namespace o3::device {

// A non-owning description of a tensor; plain data, passed to kernels by value.
// shape[0] is the slowest axis, shape[rank-1] the contiguous one (PyTorch order, the reverse of
// GGUF's ne[]). Rows are dense; `row_stride` is the distance in bytes between consecutive rows
// (the last axis) when rank >= 2.
struct TensorView {
  std::byte* data = nullptr;
  DType dtype = DType::kF32;
  uint8_t rank = 0;
  int16_t device = -1;  // -1: host memory; otherwise the CUDA ordinal
  std::array<int64_t, 4> shape{};
  int64_t row_stride = 0;

  int64_t cols() const noexcept { return rank == 0 ? 1 : shape[static_cast<size_t>(rank) - 1]; }
  int64_t rows() const noexcept {
    int64_t n = 1;
    for (int axis = 0; axis + 1 < rank; ++axis) n *= shape[static_cast<size_t>(axis)];
    return n;
  }
  template <class T>
  T* row(int64_t index) const noexcept {
    return reinterpret_cast<T*>(data + index * row_stride);
  }
};

// Dense 2-D view, row-major.
TensorView matrix_view(void* data, DType dtype, int64_t rows, int64_t cols) noexcept;
// 1-D view.
TensorView vector_view(void* data, DType dtype, int64_t elements) noexcept;

}  // namespace o3::device
