// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/rows.h"

#include <functional>

#include "kernels/cuda/testing/gpu.h"

namespace o3::kernels::cuda {
namespace {

using device::DType;

class Rows : public GpuTest {};

ref::Matrix sum_of_planes(const std::vector<float>& sums, int64_t rows, int64_t cols) {
  ref::Matrix sum(rows, cols);
  for (size_t i = 0; i < sums.size(); ++i) sum.data[i % sum.data.size()] += double{sums[i]};
  return sum;
}

TEST_F(Rows, AddNormEqualsTheReference) {
  testing::Rng rng(1);
  constexpr float kEps = 1e-5F;
  for (const int32_t width : {4, 64, 576, 4096, 8192, 14336}) {
    for (const int32_t splits : {0, 1, 4}) {
      for (const bool post : {false, true}) {
        const int32_t rows = 3;
        const size_t values = static_cast<size_t>(rows) * static_cast<size_t>(width);
        const auto residual = random_floats(rng, values);
        const auto sums = random_floats(rng, values * static_cast<size_t>(splits));
        const auto weight = random_floats(rng, static_cast<size_t>(width));
        const auto post_weight = random_floats(rng, static_cast<size_t>(width));
        AddNormArgs args;
        float* on_device = upload(residual);
        args.residual = on_device;
        args.sums = upload(sums);
        args.splits = splits;
        args.weight = upload(weight);
        args.post_weight = post && splits > 0 ? upload(post_weight) : nullptr;
        args.eps = kEps;
        auto* out = reserve<uint16_t>(values);
        args.out = out;
        args.rows = rows;
        args.width = width;
        add_norm(args, stream());
        finish();
        ref::Matrix added = sum_of_planes(sums, rows, width);
        if (args.post_weight != nullptr) {
          added = ref::rms_norm(added, matrix_of(post_weight, 1, width), double{kEps});
        }
        ref::Matrix expected = matrix_of(residual, rows, width);
        for (size_t i = 0; i < values; ++i) expected.data[i] += added.data[i];
        EXPECT_LE(distance(matrix_of(download(on_device, values), rows, width), expected), 1e-6);
        const ref::Matrix normed =
            ref::rms_norm(expected, matrix_of(weight, 1, width), double{kEps});
        EXPECT_LE(distance(matrix_of(DType::kBF16, download(out, values), rows, width), normed),
                  rounding(DType::kBF16))
            << width << " of " << splits;
        buffers_.clear();
      }
    }
  }
}

TEST_F(Rows, GateEqualsTheReference) {
  testing::Rng rng(2);
  for (const bool gelu : {false, true}) {
    for (const int32_t splits : {1, 3}) {
      const int32_t rows = 5;
      const int32_t n = 322;
      const size_t values = size_t{5} * 322;
      const auto in = random_floats(rng, 2 * values * static_cast<size_t>(splits));
      GateArgs args;
      args.in = upload(in);
      args.splits = splits;
      auto* out = reserve<uint16_t>(values);
      args.out = out;
      args.dtype = DType::kF16;
      args.rows = rows;
      args.n = n;
      args.gelu = gelu;
      gate(args, stream());
      finish();
      const ref::Matrix sum = sum_of_planes(in, rows, 2 * n);
      const ref::Matrix expected = gelu ? ref::geglu(sum) : ref::swiglu(sum);
      EXPECT_LE(distance(matrix_of(DType::kF16, download(out, values), rows, n), expected),
                rounding(DType::kF16));
    }
  }
  const Numbers in = random_numbers(rng, DType::kBF16, 5, 640);
  GateArgs args;
  args.in_dtype = DType::kBF16;
  args.in = upload(in.bits);
  auto* out = reserve<uint16_t>(size_t{5} * 320);
  args.out = out;
  args.rows = 5;
  args.n = 320;
  gate(args, stream());
  finish();
  EXPECT_LE(distance(matrix_of(DType::kBF16, download(out, size_t{5} * 320), 5, 320),
                     ref::swiglu(in.values)),
            rounding(DType::kBF16));
}

// Rounding to 3 bits of fraction costs 2^-4 at most; evenly spread, 2^-4 / sqrt(3) of it in all.
constexpr double kE4m3Rounding = 0.04;

SumScales upload_scales(const std::vector<float>& rows, const std::vector<float>& columns,
                        const std::function<const float*(const std::vector<float>&)>& up) {
  return {up(rows), up(columns)};
}
std::vector<float> positive(testing::Rng& rng, size_t count) {
  std::vector<float> values = random_floats(rng, count);
  for (float& value : values) value = 0.1F + std::fabs(value);
  return values;
}

TEST_F(Rows, NormsAndGatesBecomeE4m3) {
  testing::Rng rng(5);
  const auto up = [&](const std::vector<float>& values) { return upload(values); };
  for (const int32_t width : {64, 576, 4096, 14336}) {
    const int32_t rows = 3;
    const size_t values = static_cast<size_t>(rows) * static_cast<size_t>(width);
    const auto residual = random_floats(rng, values);
    const auto sums = random_floats(rng, values);
    const auto weight = random_floats(rng, static_cast<size_t>(width));
    const auto of_rows = positive(rng, size_t{3});
    const auto of_columns = positive(rng, static_cast<size_t>(width));
    AddNormArgs args;
    args.residual = upload(residual);
    args.sums = upload(sums);
    args.splits = 1;
    args.scales = upload_scales(of_rows, of_columns, up);
    args.weight = upload(weight);
    args.eps = 1e-5F;
    args.dtype = DType::kF8_E4M3;
    auto* out = reserve<uint8_t>(values);
    args.out = out;
    args.out_scales = reserve<float>(3);
    args.rows = rows;
    args.width = width;
    add_norm(args, stream());
    finish();
    ref::Matrix expected = matrix_of(residual, rows, width);
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t c = 0; c < width; ++c) {
        expected.at(r, c) += double{sums[static_cast<size_t>(r * width + c)]} *
                             double{of_rows[static_cast<size_t>(r)]} *
                             double{of_columns[static_cast<size_t>(c)]};
      }
    }
    expected = ref::rms_norm(expected, matrix_of(weight, 1, width), 1e-5);
    const auto normed = matrix_of(download(out, values), download(args.out_scales, 3), rows, width);
    EXPECT_LE(distance(normed, expected), kE4m3Rounding) << width;

    const Numbers in = random_numbers(rng, DType::kBF16, rows, 2 * int64_t{width});
    const auto of_both = positive(rng, 2 * static_cast<size_t>(width));
    GateArgs gating;
    gating.in_dtype = DType::kBF16;
    gating.dtype = DType::kF8_E4M3;
    gating.in = upload(in.bits);
    gating.scales = upload_scales(of_rows, of_both, up);
    gating.out = reserve<uint8_t>(values);
    gating.out_scales = reserve<float>(3);
    gating.rows = rows;
    gating.n = width;
    gate(gating, stream());
    finish();
    ref::Matrix scaled = in.values;
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t c = 0; c < scaled.cols; ++c) {
        scaled.at(r, c) *=
            double{of_rows[static_cast<size_t>(r)]} * double{of_both[static_cast<size_t>(c)]};
      }
    }
    const auto gated = matrix_of(download(static_cast<const uint8_t*>(gating.out), values),
                                 download(gating.out_scales, 3), rows, width);
    EXPECT_LE(distance(gated, ref::swiglu(scaled)), kE4m3Rounding) << width;
    buffers_.clear();
  }
}

TEST_F(Rows, RowsBecomeE4m3) {
  testing::Rng rng(6);
  for (const DType dtype : {DType::kF16, DType::kBF16}) {
    Numbers in = random_numbers(rng, dtype, 4, 1000);
    for (size_t i = 2000; i < 3000; ++i) in.bits[i] = 0, in.values.data[i] = 0.0;  // a row of zeros
    QuantizeArgs args;
    args.dtype = dtype;
    args.in = upload(in.bits);
    auto* out = reserve<uint8_t>(4000);
    args.out = out;
    args.scales = reserve<float>(4);
    args.rows = 4;
    args.width = 1000;
    quantize_rows(args, stream());
    finish();
    const auto numbers = download(out, 4000);
    const auto scales = download(args.scales, 4);
    EXPECT_LE(distance(matrix_of(numbers, scales, 4, 1000), in.values), kE4m3Rounding);
    EXPECT_EQ(scales[2], 1.0F);
    EXPECT_EQ(numbers[2500], 0);
    for (const size_t row : {0, 1, 3}) {
      float most = 0;
      for (size_t i = 0; i < 1000; ++i) {
        most = std::max(most, std::fabs(from_e4m3(numbers[row * 1000 + i])));
      }
      EXPECT_EQ(most, 448.0F);
    }
  }
}

TEST_F(Rows, EmbedAndGatherTakeTheRightRows) {
  testing::Rng rng(3);
  const Numbers table = random_numbers(rng, DType::kBF16, 50, 96);
  EmbedArgs args;
  args.table = upload(table.bits);
  args.tokens = upload(std::vector<int32_t>{7, -1, 49, 0});
  args.residual = reserve<float>(size_t{4} * 96);
  args.rows = 4;
  args.width = 96;
  args.scale = 2.0F;
  embed(args, stream());
  GatherArgs gathered;
  gathered.from = args.residual;
  auto* to = reserve<float>(size_t{2} * 96);
  gathered.to = to;
  gathered.rows = upload(std::vector<int32_t>{0, 2});
  gathered.count = 2;
  gathered.row_bytes = 96 * 4;
  gather(gathered, stream());
  finish();
  const auto embedded = download(args.residual, size_t{4} * 96);
  const auto kept = download(to, size_t{2} * 96);
  for (int64_t i = 0; i < 96; ++i) {
    const auto at = static_cast<size_t>(i);
    EXPECT_EQ(double{embedded[at]}, 2 * table.values.at(7, i));
    EXPECT_EQ(embedded[96 + at], 0.0F);
    EXPECT_EQ(double{embedded[288 + at]}, 2 * table.values.at(0, i));
    EXPECT_EQ(kept[at], embedded[at]);
    EXPECT_EQ(double{kept[96 + at]}, 2 * table.values.at(49, i));
  }
}

TEST_F(Rows, FinishLogitsFindsTheLowestOfTheLargest) {
  constexpr int32_t kWidth = 5003;
  testing::Rng rng(4);
  auto logits = random_floats(rng, size_t{3} * kWidth);
  logits[100] = logits[4000] = 9.0F;
  std::fill(logits.begin() + kWidth, logits.begin() + 2 * kWidth, std::nanf(""));
  logits[2 * kWidth + 5002] = 7.5F;
  FinishLogitsArgs args;
  float* values = upload(logits);
  args.sums = values;
  args.logits = values;
  args.best = reserve<int32_t>(3);
  args.rows = 3;
  args.width = kWidth;
  finish_logits(args, stream());
  finish();
  EXPECT_EQ(download(args.best, 3), (std::vector<int32_t>{100, -1, 5002}));

  args.softcap = 5.0F;
  args.logits = reserve<float>(size_t{3} * kWidth);
  finish_logits(args, stream());
  finish();
  const auto capped = download(args.logits, size_t{kWidth});
  for (size_t i = 0; i < capped.size(); ++i) {
    ASSERT_NEAR(capped[i], 5.0F * std::tanh(logits[i] / 5.0F), 1e-5F);
  }
}

}  // namespace
}  // namespace o3::kernels::cuda
