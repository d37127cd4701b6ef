// SPDX-License-Identifier: Apache-2.0
#include "kernels/attention.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "kernels/cpu/half.h"
#include "kernels/ref/ops.h"
#include "kernels/testing/every_isa.h"

namespace o3::kernels {
namespace {

using testing::random_f32;
using testing::Rng;
using testing::Tensor;
using testing::Workspace;

struct Shape {
  int32_t heads = 4;
  int32_t kv_heads = 2;
  int32_t head_dim = 64;
  int32_t page_tokens = 16;
  DType dtype = DType::kF16;
  int32_t window = 0;
  float softcap = 0;
  // per sequence: {rows of this call, kv_len}
  std::vector<std::pair<int32_t, int32_t>> sequences;
};

// A pool with shuffled pages; slots nobody wrote hold NaN, so that reading one shows.
class Cache {
 public:
  Cache(Rng& rng, const Shape& shape) : shape_(shape) {
    const int64_t element = shape.dtype == DType::kF16 ? 2 : 4;
    const int64_t plane = element * shape.kv_heads * shape.page_tokens * shape.head_dim;
    int32_t pages = 3;
    for (const auto& [rows, len] : shape.sequences) pages += pages_of(len);
    kv_ = {.page_bytes = 3 * plane,
           .k_offset = 0,
           .v_offset = 2 * plane,
           .dtype = shape.dtype,
           .page_tokens = shape.page_tokens,
           .kv_heads = shape.kv_heads,
           .head_dim = shape.head_dim};
    data_.assign(static_cast<size_t>(pages * kv_.page_bytes), std::byte{0xff});  // NaN
    kv_.pool = data_.data();
    std::vector<uint32_t> ids(static_cast<size_t>(pages));
    std::iota(ids.begin(), ids.end(), 0U);
    std::shuffle(ids.begin(), ids.end(), rng);
    for (const auto& [rows, len] : shape.sequences) {
      const auto count = static_cast<std::ptrdiff_t>(pages_of(len));
      tables_.emplace_back(ids.end() - count, ids.end());
      ids.resize(ids.size() - static_cast<size_t>(count));
    }
  }

  const PagedKv& kv() const { return kv_; }
  AttnSequence sequence(size_t index, int32_t row_begin, int32_t rows, int32_t kv_len) const {
    return {row_begin, rows, kv_len, tables_[index].data()};
  }

 private:
  int32_t pages_of(int32_t len) const {
    return (len + shape_.page_tokens - 1) / shape_.page_tokens;
  }
  Shape shape_;
  std::vector<std::byte> data_;
  PagedKv kv_;
  std::vector<std::vector<uint32_t>> tables_;
};

ref::Matrix as_stored(const Tensor& x, DType dtype) {
  ref::Matrix m = ref::from_view(x.view());
  if (dtype == DType::kF16) {
    for (double& value : m.data) {
      value = cpu::half_to_float(cpu::float_to_half(static_cast<float>(value)));
    }
  }
  return m;
}

TensorView rows_of(const Tensor& t, int64_t first, int64_t count) {
  return {t.view().data + first * t.view().row_stride,
          DType::kF32,
          2,
          -1,
          {count, t.view().cols(), 0, 0},
          t.view().row_stride};
}

class Attention : public testing::EveryIsa {
 protected:
  void append(const Cache& cache, const AttnSequence& s, TensorView k, TensorView v) {
    const Workspace none(backend(), 0);
    ExecCtx ctx = context(none);
    kv_append(cache.kv(), std::vector<AttnSequence>{s}, k, v, ctx);
  }

  void attend(const AttnDesc& desc, const Cache& cache, std::span<const AttnSequence> sequences,
              TensorView q, TensorView out) {
    const Workspace workspace(backend(),
                              attention_workspace(desc, cache.kv(), q.rows(), backend()));
    ExecCtx ctx = context(workspace);
    paged_attention(desc, cache.kv(), sequences, q, out, ctx);
  }

  void check(const Shape& shape, uint32_t seed);
};

AttnDesc desc_of(const Shape& shape) {
  return {.heads = shape.heads,
          .scale = 1.0F / std::sqrt(static_cast<float>(shape.head_dim)),
          .window = shape.window,
          .softcap = shape.softcap};
}

void Attention::check(const Shape& shape, uint32_t seed) {
  Rng rng(seed);
  Cache cache(rng, shape);
  const AttnDesc desc = desc_of(shape);
  const int64_t q_cols = int64_t{shape.heads} * shape.head_dim;
  const int64_t kv_cols = int64_t{shape.kv_heads} * shape.head_dim;
  int32_t rows = 0;
  for (const auto& [r, len] : shape.sequences) rows += r;
  const Tensor q = random_f32(rng, rows, q_cols, 1.5F, 2 * kv_cols);
  Tensor out(DType::kF32, rows, q_cols, 3);
  std::vector<AttnSequence> sequences;
  std::vector<Tensor> keys;
  std::vector<Tensor> values;
  int32_t row = 0;
  for (size_t i = 0; i < shape.sequences.size(); ++i) {
    const auto [r, len] = shape.sequences[i];
    keys.push_back(random_f32(rng, len, kv_cols, 1.0F, 1));
    values.push_back(random_f32(rng, len, kv_cols, 1.0F, 1));
    append(cache, cache.sequence(i, 0, len, len), keys[i].view(), values[i].view());
    sequences.push_back(cache.sequence(i, row, r, len));
    row += r;
  }
  attend(desc, cache, sequences, q.view(), out.view());
  EXPECT_TRUE(out.margin_untouched());
  for (size_t i = 0; i < sequences.size(); ++i) {
    const ref::Matrix expected = ref::attention(
        desc, shape.kv_heads, ref::from_view(rows_of(q, sequences[i].row_begin, sequences[i].rows)),
        as_stored(keys[i], shape.dtype), as_stored(values[i], shape.dtype));
    for (int64_t r = 0; r < expected.rows; ++r) {
      for (int64_t c = 0; c < q_cols; ++c) {
        // Scores up to 8 carry an error of some 2^-24 * 8 * sqrt(head_dim), which exp() turns into
        // a relative one; outputs are averages of values up to 4.
        ASSERT_NEAR(out.at(sequences[i].row_begin + r, c), expected.at(r, c), 2e-5)
            << "sequence " << i << " row " << r << " column " << c;
      }
    }
  }
}

TEST_P(Attention, LengthsAroundPagesAndSplits) {
  uint32_t seed = 1;
  for (const int32_t len : {1, 2, 15, 16, 17, 31, 33, 127, 128, 129, 255, 257, 400}) {
    SCOPED_TRACE(len);
    check({.sequences = {{1, len}}}, seed++);
    check({.sequences = {{std::min(len, 21), len}}}, seed++);
  }
}

TEST_P(Attention, WholePrompt) {
  check({.heads = 9, .kv_heads = 3, .sequences = {{140, 140}}}, 1);
  check({.heads = 9, .kv_heads = 3, .page_tokens = 64, .sequences = {{40, 300}, {1, 7}}}, 2);
}

TEST_P(Attention, MixedBatch) {
  check({.sequences = {{1, 140}, {5, 5}, {1, 16}, {9, 40}, {1, 1}, {17, 129}}}, 1);
  std::vector<std::pair<int32_t, int32_t>> many;
  many.reserve(20);
  for (int32_t i = 0; i < 20; ++i) many.emplace_back(1, 7 * i + 1);
  check({.heads = 6, .kv_heads = 1, .sequences = many}, 2);
}

TEST_P(Attention, HeadSizesAndGroups) {
  for (const int32_t dim : {16, 20, 64, 80, 128, 256}) {
    SCOPED_TRACE(dim);
    check({.heads = 4, .kv_heads = 4, .head_dim = dim, .sequences = {{3, 50}}}, 1);
    check({.heads = 4, .kv_heads = 1, .head_dim = dim, .sequences = {{1, 150}}}, 2);
  }
  check({.heads = 50, .kv_heads = 1, .head_dim = 16, .sequences = {{2, 20}}}, 3);  // > one tile
}

TEST_P(Attention, PageSizes) {
  for (const int32_t tokens : {1, 4, 16, 64, 256}) {
    SCOPED_TRACE(tokens);
    check({.page_tokens = tokens, .sequences = {{2, 150}, {1, 64}}}, 1);
  }
}

TEST_P(Attention, WindowAndSoftcap) {
  for (const int32_t window : {1, 5, 16, 100, 128, 1000}) {
    SCOPED_TRACE(window);
    check({.window = window, .sequences = {{1, 300}, {40, 150}, {150, 150}}}, 1);
  }
  check({.softcap = 2.0F, .sequences = {{1, 140}, {30, 30}}}, 2);
}

TEST_P(Attention, F32Cache) {
  check({.dtype = DType::kF32, .sequences = {{1, 140}, {30, 30}}}, 1);
}

// The same tokens in one prefill, in chunks, one by one, and beside others: the same bits.
TEST_P(Attention, RowsDependNeitherOnChunksNorOnTheBatch) {
  constexpr int32_t kLen = 290;
  Shape shape{.heads = 9, .kv_heads = 3, .sequences = {{kLen, kLen}, {kLen, kLen}}};
  for (const int32_t window : {0, 70}) {
    shape.window = window;
    Rng rng(5);
    Cache cache(rng, shape);
    const AttnDesc desc = desc_of(shape);
    const Tensor q = random_f32(rng, 2 * kLen, 9 * 64);
    const Tensor k = random_f32(rng, 2 * kLen, 3 * 64);
    const Tensor v = random_f32(rng, 2 * kLen, 3 * 64);
    const auto run = [&](const std::vector<AttnSequence>& sequences, int64_t first, int64_t count,
                         const Tensor& out) {
      attend(desc, cache, sequences, rows_of(q, first, count), rows_of(out, first, count));
    };
    Tensor stepwise(DType::kF32, kLen, 9 * 64);
    for (int32_t t = 0; t < kLen; ++t) {
      append(cache, cache.sequence(0, 0, 1, t + 1), rows_of(k, t, 1), rows_of(v, t, 1));
      run({cache.sequence(0, 0, 1, t + 1)}, t, 1, stepwise);
    }
    append(cache, cache.sequence(1, 0, kLen, kLen), rows_of(k, kLen, kLen), rows_of(v, kLen, kLen));
    const auto expect_same = [&](const Tensor& out) {
      ASSERT_EQ(std::memcmp(out.view().data, stepwise.view().data,
                            static_cast<size_t>(kLen * out.view().row_stride)),
                0);
    };
    Tensor batched(DType::kF32, 2 * kLen, 9 * 64);
    run({cache.sequence(0, 0, kLen, kLen), cache.sequence(1, kLen, kLen, kLen)}, 0, 2 * kLen,
        batched);
    expect_same(batched);
    Tensor chunked(DType::kF32, kLen, 9 * 64);
    for (int32_t first = 0, chunk = 1; first < kLen; first += chunk, chunk = chunk * 2 + 1) {
      const int32_t count = std::min(chunk, kLen - first);
      run({cache.sequence(0, 0, count, first + count)}, first, count, chunked);
    }
    expect_same(chunked);
  }
}

TEST_P(Attention, AppendKeepsWhatF16CannotHoldFinite) {
  const Shape shape{.heads = 2, .kv_heads = 2, .sequences = {{2, 2}}};
  Rng rng(6);
  Cache cache(rng, shape);
  Tensor k = random_f32(rng, 2, 128);
  Tensor v = random_f32(rng, 2, 128);
  v.at(0, 0) = 1e6F;
  v.at(1, 0) = -1e6F;
  append(cache, cache.sequence(0, 0, 2, 2), k.view(), v.view());
  const Tensor q = random_f32(rng, 2, 128);
  Tensor out(DType::kF32, 2, 128);
  attend(desc_of(shape), cache, std::vector{cache.sequence(0, 0, 2, 2)}, q.view(), out.view());
  EXPECT_EQ(out.at(0, 0), 65504.0F);
  EXPECT_TRUE(std::isfinite(out.at(1, 0)));
}

O3_FOR_EVERY_ISA(Attention);

}  // namespace
}  // namespace o3::kernels
