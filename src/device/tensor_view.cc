// SPDX-License-Identifier: Apache-2.0
#include "device/tensor_view.h"

namespace o3::device {

TensorView matrix_view(void* data, DType dtype, int64_t rows, int64_t cols) noexcept {
  TensorView view;
  view.data = static_cast<std::byte*>(data);
  view.dtype = dtype;
  view.rank = 2;
  view.shape = {rows, cols, 0, 0};
  view.row_stride = row_bytes(dtype, cols);
  return view;
}

TensorView vector_view(void* data, DType dtype, int64_t elements) noexcept {
  TensorView view;
  view.data = static_cast<std::byte*>(data);
  view.dtype = dtype;
  view.rank = 1;
  view.shape = {elements, 0, 0, 0};
  view.row_stride = row_bytes(dtype, elements);
  return view;
}

}  // namespace o3::device
