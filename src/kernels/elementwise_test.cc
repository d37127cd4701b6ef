// SPDX-License-Identifier: Apache-2.0
#include "kernels/elementwise.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/cpu/half.h"
#include "kernels/ref/ops.h"
#include "kernels/rope.h"
#include "kernels/testing/every_isa.h"

namespace o3::kernels {
namespace {

using testing::random_f32;
using testing::Rng;
using testing::Tensor;

class RowOps : public testing::EveryIsa {
 protected:
  ExecCtx no_workspace() { return ExecCtx{backend(), {}, Compute::kFast}; }
};

void expect_near(const ref::Matrix& expected, Tensor& actual, double relative, double absolute) {
  for (int64_t r = 0; r < expected.rows; ++r) {
    for (int64_t c = 0; c < expected.cols; ++c) {
      const double want = expected.at(r, c);
      ASSERT_NEAR(actual.at(r, c), want, relative * std::fabs(want) + absolute)
          << "row " << r << " column " << c;
    }
  }
}

constexpr int64_t kColumns[] = {1, 7, 16, 33, 64, 576, 1000};

TEST_P(RowOps, RmsNorm) {
  Rng rng(1);
  ExecCtx ctx = no_workspace();
  for (const int64_t d : kColumns) {
    for (const int64_t rows : {1, 5, 60}) {
      const Tensor x = random_f32(rng, rows, d, 3.0F, 2);
      const Tensor weight = random_f32(rng, 1, d);
      Tensor out(DType::kF32, rows, d, 1);
      const TensorView w = device::vector_view(weight.view().data, DType::kF32, d);
      rms_norm(x.view(), w, 1e-5F, out.view(), ctx);
      const ref::Matrix expected =
          ref::rms_norm(ref::from_view(x.view()), ref::from_view(weight.view()), 1e-5F);
      // Three roundings, and the sum's: FP32 in 16 or more lanes stays below 2^-20.
      expect_near(expected, out, 2e-6, 1e-12);
      EXPECT_TRUE(out.margin_untouched());
      rms_norm(x.view(), w, 1e-5F, x.view(), ctx);  // in place
      for (int64_t r = 0; r < rows; ++r) {
        ASSERT_EQ(std::memcmp(x.view().row<float>(r), out.view().row<float>(r),
                              static_cast<size_t>(d) * sizeof(float)),
                  0);
      }
    }
  }
}

TEST_P(RowOps, SwiGlu) {
  Rng rng(2);
  ExecCtx ctx = no_workspace();
  for (const int64_t f : kColumns) {
    Tensor x = random_f32(rng, 9, 2 * f, 4.0F, 3);
    x.at(0, 0) = 200.0F;   // e^-200 underflows
    x.at(1, 0) = -200.0F;  // e^200 overflows; silu is 0
    x.at(2, 0) = -87.0F;
    Tensor out(DType::kF32, 9, f, 1);
    swiglu(x.view(), out.view(), ctx);
    // exp within 2 ulp, one division, two products; and what underflows to zero.
    expect_near(ref::swiglu(ref::from_view(x.view())), out, 1e-6, 1e-30);
    EXPECT_TRUE(out.margin_untouched());
  }
}

TEST_P(RowOps, GeGlu) {
  Rng rng(5);
  ExecCtx ctx = no_workspace();
  for (const int64_t f : kColumns) {
    Tensor x = random_f32(rng, 9, 2 * f, 3.0F, 3);
    x.at(0, 0) = 200.0F;
    x.at(1, 0) = -200.0F;  // gelu is 0
    x.at(2, 0) = 0.0F;
    x.at(3, 0) = 1e-6F;
    Tensor out(DType::kF32, 9, f, 1);
    geglu(x.view(), out.view(), ctx);
    // The exponent is rounded twice, so far down the tail its error is 2^-23 of up to 80.
    expect_near(ref::geglu(ref::from_view(x.view())), out, 1.5e-5, 1e-30);
    EXPECT_TRUE(out.margin_untouched());
  }
}

TEST_P(RowOps, RmsNormOfHeads) {
  Rng rng(6);
  ExecCtx ctx = no_workspace();
  for (const int64_t d : {8, 17, 64, 256}) {
    Tensor x = random_f32(rng, 7, 4 * d, 2.0F, 2);
    const Tensor weight = random_f32(rng, 1, d);
    const ref::Matrix expected =
        ref::rms_norm_heads(ref::from_view(x.view()), 3, ref::from_view(weight.view()), 1e-6F);
    rms_norm_heads(x.view(), 3, device::vector_view(weight.view().data, DType::kF32, d), 1e-6F,
                   ctx);
    expect_near(expected, x, 2e-6, 1e-12);  // the fourth head as it was
    EXPECT_TRUE(x.margin_untouched());
  }
}

TEST_P(RowOps, Softcap) {
  Rng rng(7);
  ExecCtx ctx = no_workspace();
  for (const int64_t d : kColumns) {
    for (const float cap : {0.5F, 30.0F}) {
      Tensor x = random_f32(rng, 5, d, 2.0F * cap, 1);
      x.at(0, 0) = 1e4F * cap;
      x.at(1, 0) = -1e4F * cap;
      x.at(2, 0) = 0.0F;
      const ref::Matrix expected = ref::softcap(ref::from_view(x.view()), static_cast<double>(cap));
      softcap(cap, x.view(), ctx);
      // 1 - 2 / (e + 1) cancels near zero: absolute error of a few 2^-24.
      expect_near(expected, x, 1e-6, 2e-7 * static_cast<double>(cap));
      EXPECT_TRUE(x.margin_untouched());
    }
  }
}

TEST_P(RowOps, AddScaleAndBias) {
  Rng rng(8);
  ExecCtx ctx = no_workspace();
  for (const int64_t d : kColumns) {
    const Tensor x = random_f32(rng, 5, d, 1.0F, 3);
    const Tensor bias = random_f32(rng, 1, d);
    Tensor y = random_f32(rng, 5, d, 1.0F, 1);
    const ref::Matrix before = ref::from_view(y.view());
    add(x.view(), y.view(), ctx);
    add_bias(device::vector_view(bias.view().data, DType::kF32, d), y.view(), ctx);
    scale(0.75F, y.view(), ctx);
    for (int64_t r = 0; r < 5; ++r) {
      for (int64_t c = 0; c < d; ++c) {
        const float sum = static_cast<float>(before.at(r, c)) + x.view().row<float>(r)[c];
        ASSERT_EQ(y.at(r, c), (sum + bias.view().row<float>(0)[c]) * 0.75F);
      }
    }
    EXPECT_TRUE(y.margin_untouched());
  }
}

TEST_P(RowOps, Rope) {
  Rng rng(3);
  ExecCtx ctx = no_workspace();
  for (const RopeStyle style : {RopeStyle::kInterleaved, RopeStyle::kHalf}) {
    for (const int32_t dim : {2, 10, 16, 40, 64}) {
      const RopeParams params{.dim = dim,
                              .base = 1e5,
                              .style = style,
                              .max_positions = 4000,
                              .scaling = {},
                              .divisors = {}};
      const RopeTable table = make_rope_table(params);
      const Tensor x = random_f32(rng, 4, 3 * 64, 1.0F, 4);
      const std::vector<Position> positions{{0, 0, 0}, {1, 1, 1}, {77, 77, 77}, {3999, 3999, 3999}};
      const ref::Matrix expected = ref::rope(params, positions, ref::from_view(x.view()), 2, 64);
      rope(table, positions, x.view(), 2, 64, ctx);
      Tensor out = x;
      // Two products, a sum and the rounded table, of values up to 5.
      expect_near(expected, out, 0, 2e-6);
    }
  }
}

TEST_P(RowOps, EmbedEveryDtype) {
  Rng rng(4);
  ExecCtx ctx = no_workspace();
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16, DType::kQ4_0, DType::kQ4_1,
                            DType::kQ5_0, DType::kQ5_1, DType::kQ8_0, DType::kQ2_K, DType::kQ3_K,
                            DType::kQ4_K, DType::kQ5_K, DType::kQ6_K, DType::kIQ4_NL}) {
    ASSERT_TRUE(can_dequantize(dtype));
    const int64_t cols = 3 * std::max(32, device::traits(dtype).block_elements);
    const Tensor table = testing::random_weights(rng, dtype, 50, cols);
    const std::vector<int32_t> ids{49, 0, 7, 7};
    Tensor out(DType::kF32, 4, cols, 1);
    embed(table.view(), ids, out.view(), ctx);
    const ref::Matrix expected = ref::from_view(table.view());
    for (int64_t r = 0; r < 4; ++r) {
      for (int64_t c = 0; c < cols; ++c) ASSERT_EQ(out.at(r, c), expected.at(ids[r], c));
    }
  }
  EXPECT_FALSE(can_dequantize(DType::kI32));
}

O3_FOR_EVERY_ISA(RowOps);

TEST(Half, EveryValueRoundTrips) {
  for (uint32_t bits = 0; bits <= 0xffff; ++bits) {
    const float value = cpu::half_to_float(static_cast<uint16_t>(bits));
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(cpu::half_to_float(cpu::float_to_half(value))));
    } else {
      ASSERT_EQ(cpu::float_to_half(value), bits);
    }
  }
}

TEST(Half, RoundsToNearestEven) {
  EXPECT_EQ(cpu::half_to_float(0x3c00), 1.0F);
  EXPECT_EQ(cpu::half_to_float(0x0001), 0x1p-24F);
  EXPECT_EQ(cpu::half_to_float(0x7bff), 65504.0F);
  EXPECT_TRUE(std::isinf(cpu::half_to_float(0x7c00)));
  EXPECT_EQ(cpu::float_to_half(1.0F + 0x1p-11F), 0x3c00);  // tie: down to even
  EXPECT_EQ(cpu::float_to_half(1.0F + 0x3p-11F), 0x3c02);  // tie: up to even
  EXPECT_EQ(cpu::float_to_half(1.0F + 0x1p-11F + 0x1p-20F), 0x3c01);
  EXPECT_EQ(cpu::float_to_half(65519.0F), 0x7bff);
  EXPECT_EQ(cpu::float_to_half(65520.0F), 0x7c00);
  EXPECT_EQ(cpu::float_to_half(0x1p-25F), 0x0000);  // tie: down to even
  EXPECT_EQ(cpu::float_to_half(0x3p-25F), 0x0002);
  EXPECT_EQ(cpu::float_to_half(-0x1p-24F), 0x8001);
}

}  // namespace
}  // namespace o3::kernels
