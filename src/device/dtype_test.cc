// SPDX-License-Identifier: Apache-2.0
#include "device/dtype.h"

#include <gtest/gtest.h>

#include <array>

#include "device/tensor_view.h"

namespace o3::device {
namespace {

TEST(DType, NamesRoundTrip) {
  for (int i = 0; i <= static_cast<int>(DType::kIQ4_NL); ++i) {
    const auto dtype = static_cast<DType>(i);
    EXPECT_EQ(dtype_from_name(traits(dtype).name), dtype);
  }
  EXPECT_FALSE(dtype_from_name("Q4_9").has_value());
}

TEST(DType, RowBytesCountsWholeBlocks) {
  EXPECT_EQ(row_bytes(DType::kF32, 3), 12);
  EXPECT_EQ(row_bytes(DType::kQ4_1, 576), 360);
  EXPECT_EQ(row_bytes(DType::kQ8_0, 576), 612);
  EXPECT_EQ(row_bytes(DType::kQ6_K, 512), 420);
}

TEST(TensorView, MatrixAndVectorStrides) {
  std::array<float, 12> data{};
  const TensorView matrix = matrix_view(data.data(), DType::kF32, 3, 4);
  EXPECT_EQ(matrix.rows(), 3);
  EXPECT_EQ(matrix.cols(), 4);
  EXPECT_EQ(matrix.row<float>(2), data.data() + 8);
  const TensorView vector = vector_view(data.data(), DType::kF32, 12);
  EXPECT_EQ(vector.rows(), 1);
  EXPECT_EQ(vector.cols(), 12);
}

}  // namespace
}  // namespace o3::device
