// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "artifact/output_file.h"
#include "device/dtype.h"

namespace o3::artifact {

// A tensor to be written, made row by row while it is: a model is never held twice.
struct RowTensor {
  std::string name;
  device::DType dtype = device::DType::kF32;
  std::vector<int64_t> shape;  // PyTorch order; the last extent is the row's
  // Writes row `index` (over all other extents) into `out`, row_bytes() long.
  std::function<void(int64_t index, std::span<std::byte> out)> row;

  int64_t rows() const {
    int64_t count = 1;
    for (size_t axis = 0; axis + 1 < shape.size(); ++axis) count *= shape[axis];
    return count;
  }
  int64_t row_bytes() const { return device::row_bytes(dtype, shape.empty() ? 1 : shape.back()); }
  int64_t bytes() const { return rows() * row_bytes(); }

  Result<void> write_to(OutputFile& file) const {
    std::vector<std::byte> buffer(static_cast<size_t>(row_bytes()));
    for (int64_t index = 0; index < rows(); ++index) {
      row(index, buffer);
      O3_TRY(file.write(buffer));
    }
    return {};
  }
};

// One whose values lie in memory, which must outlive it.
inline RowTensor row_tensor(std::string name, device::DType dtype, std::vector<int64_t> shape,
                            std::span<const std::byte> data) {
  return {std::move(name), dtype, std::move(shape),
          [data](int64_t index, std::span<std::byte> out) {
            const auto from = data.subspan(static_cast<size_t>(index) * out.size(), out.size());
            std::copy(from.begin(), from.end(), out.begin());
          }};
}

}  // namespace o3::artifact
