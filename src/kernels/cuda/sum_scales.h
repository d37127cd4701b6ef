// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace o3::kernels::cuda {

// A product of E4M3 numbers knows nothing of their scales: who reads its sums multiplies them by
// rows[row] * columns[column]. Both are there, or neither.
struct SumScales {
  const float* rows = nullptr;
  const float* columns = nullptr;
};

}  // namespace o3::kernels::cuda
