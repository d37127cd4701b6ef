// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/skinny.h"

#include "kernels/cuda/gemm.h"
#include "kernels/cuda/testing/gpu.h"

namespace o3::kernels::cuda {
namespace {

using device::DType;

// FP32 sums of exact products, at most a few hundred roundings deep.
constexpr double kSumTolerance = 1e-5;

struct ProductCase {
  int32_t rows;
  int32_t n;
  int32_t k;
};
constexpr ProductCase kCases[] = {
    {1, 8, 64},   {1, 1, 8},  {3, 100, 576},   {8, 520, 4096},  {1, 40, 14336}, {16, 72, 4104},
    {9, 33, 512}, {5, 64, 8}, {2, 1536, 1000}, {16, 2048, 728}, {7, 257, 8200}, {12, 129, 3072}};

class Skinny : public GpuTest {};

TEST_F(Skinny, EqualsTheReference) {
  testing::Rng rng(1);
  for (const DType dtype : {DType::kBF16, DType::kF16}) {
    for (const ProductCase& c : kCases) {
      const Numbers x = random_numbers(rng, dtype, c.rows, c.k);
      const Numbers w = random_numbers(rng, dtype, c.n, c.k, 0.1F);
      const auto splits = static_cast<size_t>(skinny_splits(c.k));
      const size_t values = static_cast<size_t>(c.rows) * static_cast<size_t>(c.n);
      SkinnyArgs args;
      args.dtype = dtype;
      args.w = upload(w.bits);
      args.x = upload(x.bits);
      args.n = c.n;
      args.k = c.k;
      args.rows = c.rows;
      args.sums = reserve<float>(splits * values);
      skinny(args, stream());
      finish();
      const std::vector<float> sums = download(args.sums, splits * values);
      ref::Matrix y(c.rows, c.n);
      for (size_t i = 0; i < sums.size(); ++i) y.data[i % values] += double{sums[i]};
      const double error = distance(y, ref::linear(x.values, w.values).y);
      EXPECT_LE(error, kSumTolerance) << c.rows << " x " << c.n << " x " << c.k;
      buffers_.clear();
    }
  }
}

// Scales are powers of two: exact, so the tolerance stays that of sums.
std::vector<float> row_scales(int32_t n) {
  std::vector<float> scales;
  for (int32_t i = 0; i < n; ++i) scales.push_back(std::ldexp(1.0F, i % 7 - 9));
  return scales;
}
void scale_columns(ref::Matrix& y, const std::vector<float>& scales) {
  for (size_t i = 0; i < y.data.size(); ++i) y.data[i] *= double{scales[i % scales.size()]};
}

TEST_F(Skinny, TakesE4m3WithScales) {
  testing::Rng rng(5);
  for (const ProductCase& c :
       {ProductCase{1, 8, 64}, ProductCase{3, 100, 576}, ProductCase{8, 520, 4096},
        ProductCase{1, 40, 14336}, ProductCase{16, 72, 4112}, ProductCase{9, 33, 528},
        ProductCase{5, 64, 16}, ProductCase{12, 129, 3072}, ProductCase{7, 257, 8208}}) {
    const Numbers x = random_numbers(rng, DType::kF16, c.rows, c.k, 0.01F);
    const SmallNumbers w = random_e4m3(rng, c.n, c.k);
    const std::vector<float> scales = row_scales(c.n);
    const auto splits = static_cast<size_t>(skinny_splits(c.k));
    const size_t values = static_cast<size_t>(c.rows) * static_cast<size_t>(c.n);
    SkinnyArgs args;
    args.dtype = DType::kF8_E4M3;
    args.w = upload(w.bits);
    args.scales = upload(scales);
    args.x = upload(x.bits);
    args.n = c.n;
    args.k = c.k;
    args.rows = c.rows;
    args.sums = reserve<float>(splits * values);
    skinny(args, stream());
    ref::Matrix expected = ref::linear(x.values, w.values).y;
    scale_columns(expected, scales);
    finish();
    const std::vector<float> sums = download(args.sums, splits * values);
    ref::Matrix y(c.rows, c.n);
    for (size_t i = 0; i < sums.size(); ++i) y.data[i % values] += double{sums[i]};
    EXPECT_LE(distance(y, expected), kSumTolerance) << c.rows << " x " << c.n << " x " << c.k;
    if (c.n % 8 == 0 && c.k <= kSkinnySplit) {
      args.gate = Gate::kSilu;
      auto* out = reserve<uint16_t>(values / 2);
      args.gated = out;
      skinny(args, stream());
      finish();
      const auto gated = matrix_of(DType::kF16, download(out, values / 2), c.rows, c.n / 2);
      EXPECT_LE(distance(gated, ref::swiglu(expected)), 2 * rounding(DType::kF16)) << c.n;
    }
    buffers_.clear();
  }
}

TEST_F(Skinny, GatesInTheSamePass) {
  testing::Rng rng(2);
  for (const Gate gate : {Gate::kSilu, Gate::kGelu}) {
    for (const ProductCase& c : {ProductCase{1, 512, 4096}, ProductCase{4, 24, 576},
                                 ProductCase{11, 1000, 1024}, ProductCase{16, 8, 72}}) {
      const Numbers x = random_numbers(rng, DType::kBF16, c.rows, c.k);
      const Numbers w = random_numbers(rng, DType::kBF16, c.n, c.k, 0.03F);
      SkinnyArgs args;
      args.w = upload(w.bits);
      args.x = upload(x.bits);
      args.n = c.n;
      args.k = c.k;
      args.rows = c.rows;
      args.gate = gate;
      const size_t values = static_cast<size_t>(c.rows) * static_cast<size_t>(c.n) / 2;
      auto* out = reserve<uint16_t>(values);
      args.gated = out;
      skinny(args, stream());
      finish();
      const ref::Matrix y = ref::linear(x.values, w.values).y;
      const ref::Matrix expected = gate == Gate::kSilu ? ref::swiglu(y) : ref::geglu(y);
      const double error =
          distance(matrix_of(DType::kBF16, download(out, values), c.rows, c.n / 2), expected);
      EXPECT_LE(error, rounding(DType::kBF16)) << c.rows << " x " << c.n << " x " << c.k;
      buffers_.clear();
    }
  }
}

TEST_F(Skinny, ARowsSumsDoNotDependOnTheOthers) {
  testing::Rng rng(3);
  constexpr int32_t kN = 136;
  constexpr int32_t kK = 5000;
  const Numbers x = random_numbers(rng, DType::kBF16, 16, kK);
  const Numbers w = random_numbers(rng, DType::kBF16, kN, kK);
  SkinnyArgs args;
  args.w = upload(w.bits);
  args.x = upload(x.bits);
  args.n = kN;
  args.k = kK;
  std::vector<float> alone;
  for (const int32_t rows : {1, 2, 8, 9, 16}) {
    args.rows = rows;
    args.sums = reserve<float>(size_t{2} * 16 * kN);
    skinny(args, stream());
    finish();
    const auto sums = download(args.sums, size_t{2} * static_cast<size_t>(rows) * kN);
    std::vector<float> first(sums.begin(), sums.begin() + kN);
    const auto second = sums.begin() + static_cast<ptrdiff_t>(rows) * kN;
    first.insert(first.end(), second, second + kN);
    if (rows == 1) alone = first;
    EXPECT_EQ(first, alone) << rows;
  }
}

class GemmTest : public GpuTest {};

TEST_F(GemmTest, EqualsTheReference) {
  testing::Rng rng(4);
  const auto gemm = Gemm::create(*gpu_);
  ASSERT_TRUE(gemm.ok());
  for (const DType dtype : {DType::kBF16, DType::kF16}) {
    for (const ProductCase& c : {ProductCase{17, 64, 72}, ProductCase{200, 136, 1000}}) {
      for (const bool wide : {true, false}) {
        const Numbers x = random_numbers(rng, dtype, c.rows, c.k);
        const Numbers w = random_numbers(rng, dtype, c.n, c.k, 0.1F);
        const size_t values = static_cast<size_t>(c.rows) * static_cast<size_t>(c.n);
        const std::vector<float> before = random_floats(rng, values);
        ref::Matrix expected = ref::linear(x.values, w.values).y;
        GemmArgs args;
        args.dtype = dtype;
        args.y_dtype = wide ? DType::kF32 : dtype;
        args.x = upload(x.bits);
        args.w = upload(w.bits);
        args.rows = c.rows;
        args.n = c.n;
        args.k = c.k;
        args.accumulate = wide;
        ref::Matrix y(c.rows, c.n);
        if (wide) {
          float* to = upload(before);
          args.y = to;
          ASSERT_TRUE((*gemm)->run(args).ok());
          finish();
          y = matrix_of(download(to, values), c.rows, c.n);
          for (size_t i = 0; i < values; ++i) expected.data[i] += double{before[i]};
        } else {
          auto* to = reserve<uint16_t>(values);
          args.y = to;
          ASSERT_TRUE((*gemm)->run(args).ok());
          finish();
          y = matrix_of(dtype, download(to, values), c.rows, c.n);
        }
        EXPECT_LE(distance(y, expected), wide ? kSumTolerance : rounding(dtype));
      }
    }
  }
}

TEST_F(GemmTest, MultipliesE4m3) {
  testing::Rng rng(6);
  const auto gemm = Gemm::create(*gpu_);
  ASSERT_TRUE(gemm.ok());
  for (const ProductCase& c : {ProductCase{17, 64, 80}, ProductCase{200, 144, 1008}}) {
    const SmallNumbers x = random_e4m3(rng, c.rows, c.k);
    const SmallNumbers w = random_e4m3(rng, c.n, c.k);
    const size_t values = static_cast<size_t>(c.rows) * static_cast<size_t>(c.n);
    GemmArgs args;
    args.dtype = DType::kF8_E4M3;
    args.x = upload(x.bits);
    args.w = upload(w.bits);
    args.rows = c.rows;
    args.n = c.n;
    args.k = c.k;
    auto* wide = reserve<float>(values);
    args.y = wide;
    ASSERT_TRUE((*gemm)->run(args).ok());
    args.y_dtype = DType::kBF16;
    auto* narrow = reserve<uint16_t>(values);
    args.y = narrow;
    ASSERT_TRUE((*gemm)->run(args).ok());
    finish();
    const ref::Matrix expected = ref::linear(x.values, w.values).y;
    // The tensor core keeps about 14 bits of a sum of E4M3 products before it adds them in FP32.
    EXPECT_LE(distance(matrix_of(download(wide, values), c.rows, c.n), expected), 1e-3);
    EXPECT_LE(distance(matrix_of(DType::kBF16, download(narrow, values), c.rows, c.n), expected),
              rounding(DType::kBF16));
  }
}

}  // namespace
}  // namespace o3::kernels::cuda
