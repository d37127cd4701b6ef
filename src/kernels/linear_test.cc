// SPDX-License-Identifier: Apache-2.0
#include "kernels/linear.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>

#include "kernels/ref/ops.h"
#include "kernels/testing/every_isa.h"

namespace o3::kernels {
namespace {

using testing::LinearCase;
using testing::name_of;
using testing::random_f32;
using testing::random_weights;
using testing::Rng;
using testing::Tensor;
using testing::Workspace;

class Linear : public testing::EveryIsa {
 protected:
  std::unique_ptr<LinearWeights> pack(const Tensor& w) {
    const std::array parts{w.view()};
    auto packed = pack_linear(parts, backend());
    EXPECT_TRUE(packed.ok()) << (packed.ok() ? "" : packed.error().message);
    return *std::move(packed);
  }

  void multiply(const LinearWeights& w, TensorView x, TensorView y, bool accumulate,
                Compute compute) {
    const Workspace workspace(backend(), linear_workspace(w, x.rows(), compute));
    ExecCtx ctx = context(workspace, compute);
    linear(w, x, y, accumulate, ctx);
  }
};

// Each of `terms` additions and the products before them round once, to 2^-24 of what they handle,
// which is at most the sum of the terms' magnitudes. d * q and its minimum are terms of their own.
void expect_close(const ref::Product& expected, Tensor& y, int64_t terms, double magnitude_factor) {
  const double per_term = static_cast<double>(terms) * 0x1p-24 * magnitude_factor;
  for (int64_t r = 0; r < expected.y.rows; ++r) {
    for (int64_t o = 0; o < expected.y.cols; ++o) {
      const double tolerance = per_term * expected.magnitude.at(r, o) + 1e-30;
      ASSERT_NEAR(y.at(r, o), expected.y.at(r, o), tolerance) << "row " << r << " output " << o;
    }
  }
}

// Sums of d*q and m with opposite signs are larger than |w| by about this much.
constexpr double kMinimumFactor = 4.0;

TEST_P(Linear, AgreesWithDoublePrecision) {
  Rng rng(1);
  for (const LinearCase& c : testing::small_linear_cases()) {
    for (const Compute compute : {Compute::kFast, Compute::kF32}) {
      SCOPED_TRACE(name_of(c) + (compute == Compute::kFast ? " fast" : " f32"));
      const Tensor w = random_weights(rng, c.dtype, c.out, c.in);
      const Tensor x = random_f32(rng, c.rows, c.in, 1.0F, 5);
      Tensor y(DType::kF32, c.rows, c.out, 3);
      multiply(*pack(w), x.view(), y.view(), false, compute);
      ref::Matrix input = ref::from_view(x.view());
      const bool quantized = compute == Compute::kFast && device::traits(c.dtype).quantized;
      if (quantized) input = ref::quantize_activations(input);
      expect_close(ref::linear(input, ref::from_view(w.view())), y, c.in + 4, kMinimumFactor);
      EXPECT_TRUE(y.margin_untouched());
    }
  }
}

Tensor pick_rows(const Tensor& from, const std::vector<int64_t>& rows) {
  Tensor out(from.view().dtype, std::ssize(rows), from.view().cols());
  for (int64_t i = 0; i < std::ssize(rows); ++i) {
    std::memcpy(out.view().row<std::byte>(i),
                from.view().row<std::byte>(rows[static_cast<size_t>(i)]),
                static_cast<size_t>(out.view().row_stride));
  }
  return out;
}

// Every quantised type, with inputs of several blocks.
constexpr std::array kQuantized{DType::kQ4_0, DType::kQ4_1, DType::kQ5_0,  DType::kQ5_1,
                                DType::kQ8_0, DType::kQ2_K, DType::kQ3_K,  DType::kQ4_K,
                                DType::kQ5_K, DType::kQ6_K, DType::kIQ4_NL};
constexpr std::array kEveryType{DType::kF32,  DType::kF16,   DType::kBF16, DType::kQ4_0,
                                DType::kQ4_1, DType::kQ5_0,  DType::kQ5_1, DType::kQ8_0,
                                DType::kQ2_K, DType::kQ3_K,  DType::kQ4_K, DType::kQ5_K,
                                DType::kQ6_K, DType::kIQ4_NL};

// The shapes the benchmark times, but for the logits (no new sizes, and large); some outputs of
// some rows are compared.
TEST_P(Linear, ModelShapes) {
  Rng rng(8);
  for (const LinearCase& c : testing::model_linear_cases()) {
    if (c.out > 4096) continue;
    if (c.rows > 16 && GetParam() == device::cpu::Isa::kGeneric) continue;  // takes seconds
    SCOPED_TRACE(name_of(c));
    const Tensor w = random_weights(rng, c.dtype, c.out, c.in);
    const Tensor x = random_f32(rng, c.rows, c.in);
    Tensor y(DType::kF32, c.rows, c.out);
    multiply(*pack(w), x.view(), y.view(), false, Compute::kFast);
    const std::vector<int64_t> rows{0, c.rows / 2, c.rows - 1};
    std::vector<int64_t> outs;
    for (int64_t o = 0; o < c.out; o += 37) outs.push_back(o);  // NOLINT: a handful
    const ref::Product expected =
        ref::linear(ref::quantize_activations(ref::from_view(pick_rows(x, rows).view())),
                    ref::from_view(pick_rows(w, outs).view()));
    Tensor picked(DType::kF32, 3, std::ssize(outs));
    for (int64_t r = 0; r < 3; ++r) {
      for (int64_t o = 0; o < std::ssize(outs); ++o) {
        picked.at(r, o) = y.at(rows[static_cast<size_t>(r)], outs[static_cast<size_t>(o)]);
      }
    }
    expect_close(expected, picked, c.in + 4, kMinimumFactor);
  }
}

TEST_P(Linear, AccumulatesOntoWhatIsThere) {
  Rng rng(2);
  for (const DType dtype : kEveryType) {
    for (const int64_t rows : {1, 13}) {
      const Tensor w = random_weights(rng, dtype, 21, 256);
      const Tensor x = random_f32(rng, rows, 256);
      Tensor y = random_f32(rng, rows, 21);
      ref::Product expected = ref::linear(ref::from_view(x.view()), ref::from_view(w.view()));
      for (int64_t r = 0; r < rows; ++r) {
        for (int64_t o = 0; o < 21; ++o) expected.y.at(r, o) += y.at(r, o);
        for (int64_t o = 0; o < 21; ++o) expected.magnitude.at(r, o) += std::fabs(y.at(r, o));
      }
      multiply(*pack(w), x.view(), y.view(), true, Compute::kF32);
      expect_close(expected, y, 260, kMinimumFactor);
    }
  }
}

TEST_P(Linear, RowsDoNotDependOnTheBatch) {
  Rng rng(3);
  constexpr int64_t kMost = 17;
  constexpr int64_t kOut = 50;
  for (const DType dtype : kEveryType) {
    const int64_t in = device::traits(dtype).block_elements == 256 ? 512 : 352;
    for (const Compute compute : {Compute::kFast, Compute::kF32}) {
      const auto w = pack(random_weights(rng, dtype, kOut, in));
      const Tensor x = random_f32(rng, 300, in);
      Tensor alone(DType::kF32, 300, kOut);
      const auto rows = [](const Tensor& t, int64_t first, int64_t count) {
        return device::TensorView{t.view().data + first * t.view().row_stride,
                                  DType::kF32,
                                  2,
                                  -1,
                                  {count, t.view().cols(), 0, 0},
                                  t.view().row_stride};
      };
      for (int64_t r = 0; r < 300; ++r) {
        multiply(*w, rows(x, r, 1), rows(alone, r, 1), false, compute);
      }
      for (int64_t n = 2; n <= kMost + 1; ++n) {
        const int64_t count = n > kMost ? 300 : n;
        Tensor y(DType::kF32, count, kOut);
        multiply(*w, rows(x, 0, count), y.view(), false, compute);
        ASSERT_EQ(std::memcmp(y.view().data, alone.view().data,
                              static_cast<size_t>(count * y.view().row_stride)),
                  0)
            << w->kernel_name() << " n=" << count;
      }
    }
  }
}

TEST_P(Linear, StacksPartsAlongTheOutputs) {
  Rng rng(4);
  const Tensor a = random_weights(rng, DType::kQ4_1, 19, 64);
  const Tensor b = random_weights(rng, DType::kQ4_1, 8, 64);
  const std::array parts{a.view(), b.view()};
  auto packed = pack_linear(parts, backend());
  ASSERT_TRUE(packed.ok());
  EXPECT_EQ((*packed)->out_features(), 27);
  const Tensor x = random_f32(rng, 3, 64);
  Tensor both(DType::kF32, 3, 27);
  Tensor first(DType::kF32, 3, 19);
  Tensor second(DType::kF32, 3, 8);
  multiply(**packed, x.view(), both.view(), false, Compute::kFast);
  multiply(*pack(a), x.view(), first.view(), false, Compute::kFast);
  multiply(*pack(b), x.view(), second.view(), false, Compute::kFast);
  for (int64_t r = 0; r < 3; ++r) {
    for (int64_t o = 0; o < 27; ++o) {
      EXPECT_EQ(both.at(r, o), o < 19 ? first.at(r, o) : second.at(r, o - 19));
    }
  }
}

// Packed bytes of a matrix of whole groups, per byte in the file. 1.15 is what the whole process
// may take; the widest is Q3_K, whose scales are unpacked from 6 bits to 8: 114 + 3 to align for
// 110.
TEST_P(Linear, PackingDoesNotWiden) {
  Rng rng(5);
  for (const DType dtype : kEveryType) {
    const Tensor w = random_weights(rng, dtype, 64, 768);
    const auto packed = pack(w);
    EXPECT_LE(static_cast<double>(packed->bytes()),
              1.07 * static_cast<double>(64 * device::row_bytes(dtype, 768)))
        << packed->kernel_name();
  }
}

// A scale that is infinite or NaN spoils the output it belongs to and no other.
TEST_P(Linear, NonFiniteScalesStayInTheirOutput) {
  Rng rng(9);
  for (const DType dtype : kQuantized) {
    for (const Compute compute : {Compute::kFast, Compute::kF32}) {
      for (const int64_t rows : {1, 20}) {
        const Tensor w = random_weights(rng, dtype, 5, 512);
        const Tensor x = random_f32(rng, rows, 512);
        Tensor clean(DType::kF32, rows, 5);
        multiply(*pack(w), x.view(), clean.view(), false, compute);
        auto* spoilt = w.view().row<std::byte>(2);
        std::fill_n(spoilt, device::traits(dtype).block_bytes, std::byte{0xff});
        Tensor y(DType::kF32, rows, 5);
        multiply(*pack(w), x.view(), y.view(), false, compute);
        for (int64_t r = 0; r < rows; ++r) {
          for (int64_t o = 0; o < 5; ++o) {
            ASSERT_EQ(std::isnan(y.at(r, o)), o == 2) << device::traits(dtype).name;
            ASSERT_TRUE(o == 2 || y.at(r, o) == clean.at(r, o));
          }
        }
      }
    }
  }
}

// Quants, scales and minima at both ends of their ranges, with activations of one sign: sums are as
// large as they get.
TEST_P(Linear, ExtremeQuants) {
  for (const DType dtype : kQuantized) {
    for (const std::byte fill : {std::byte{0x00}, std::byte{0xff}, std::byte{0x7f}}) {
      for (const int64_t rows : {1, 17}) {
        Rng rng(10);
        const Tensor w = random_weights(rng, dtype, 3, 512);  // for its d and m
        const Tensor filled = testing::with_quants(w, fill);
        Tensor x(DType::kF32, rows, 512);
        for (int64_t i = 0; i < 512 * rows; ++i) {
          x.at(i / 512, i % 512) = i % 32 == 0 ? -1.0F : 1.0F;
        }
        Tensor y(DType::kF32, rows, 3);
        multiply(*pack(filled), x.view(), y.view(), false, Compute::kFast);
        const ref::Matrix input = ref::quantize_activations(ref::from_view(x.view()));
        // d * q and the minimum cancel by as much as their own size.
        expect_close(ref::linear(input, ref::from_view(filled.view())), y, 520, 64);
      }
    }
  }
}

TEST_P(Linear, ZeroTinyAndHugeActivations) {
  Rng rng(6);
  const Tensor w = random_weights(rng, DType::kQ4_1, 16, 64);
  Tensor x(DType::kF32, 3, 64);
  for (int64_t i = 0; i < 64; ++i) {
    x.at(0, i) = 0;
    x.at(1, i) = 1e-40F;
    x.at(2, i) = 1e30F;
  }
  Tensor y(DType::kF32, 3, 16);
  multiply(*pack(w), x.view(), y.view(), false, Compute::kFast);
  for (int64_t o = 0; o < 16; ++o) {
    EXPECT_EQ(y.at(0, o), 0);
    EXPECT_NEAR(y.at(1, o), 0, 1e-38);
    EXPECT_TRUE(std::isfinite(y.at(2, o)));
  }
}

TEST_P(Linear, RefusesByName) {
  Rng rng(7);
  const Tensor w(DType::kI32, 4, 256);
  const std::array parts{w.view()};
  const auto packed = pack_linear(parts, backend());
  ASSERT_FALSE(packed.ok());
  EXPECT_EQ(packed.error().code, Code::kUnsupported);
  EXPECT_NE(packed.error().message.find("I32 matrix of 4 x 256"), std::string::npos)
      << packed.error().message;
  const Tensor a = random_weights(rng, DType::kF32, 2, 8);
  const Tensor b = random_weights(rng, DType::kF32, 2, 9);
  const std::array unequal{a.view(), b.view()};
  EXPECT_FALSE(pack_linear(unequal, backend()).ok());
  EXPECT_FALSE(pack_linear({}, backend()).ok());
}

O3_FOR_EVERY_ISA(Linear);

}  // namespace
}  // namespace o3::kernels
