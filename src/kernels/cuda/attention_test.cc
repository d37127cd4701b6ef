// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/attention.h"

#include <algorithm>
#include <numeric>

#include "kernels/cuda/step_writer.h"
#include "kernels/cuda/testing/gpu.h"

namespace o3::kernels::cuda {
namespace {

struct Shape {
  int32_t heads;
  int32_t kv_heads;
  int32_t head_dim;
  int32_t rope_dim;
  DType dtype = DType::kF16;
  int32_t window = 0;
  float softcap = 0.0F;
  RopeStyle style = RopeStyle::kHalf;
  bool extras = false;  // bias and norms of heads
};

// Cached tokens with the new ones, and how many are new.
struct Length {
  int32_t kv_len;
  int32_t rows;
};

// Of queries: beside E4M3 they stay 16-bit.
DType query_dtype(const Shape& shape) {
  return shape.dtype == DType::kF8_E4M3 ? DType::kF16 : shape.dtype;
}

constexpr int32_t kPageTokens = 32;
constexpr int32_t kMaxPositions = 2048;
constexpr float kEps = 1e-5F;

class DeviceAttention : public GpuTest {
 protected:
  // Random Q, K, V of whole sequences, appended to pages in random order of a poisoned pool.
  void append(const Shape& shape, const std::vector<Length>& lengths);
  // Attention of the last `rows` rows of each, by the kernels that `plain` or the shape picks.
  std::vector<ref::Matrix> attend(bool plain);
  std::vector<ref::Matrix> expected() const;

  std::vector<AttnSequence> sequences(bool all) const;
  KvStep upload_step(const std::vector<AttnSequence>& of, int32_t rows, StepCounts& counts);

  testing::Rng rng_{7};
  Shape shape_;
  std::vector<Length> lengths_;
  AttnDesc desc_;
  PagedKv kv_;
  std::vector<std::vector<uint32_t>> tables_;
  std::vector<ref::Matrix> q_, k_, v_;  // of each sequence, as the device holds them
  std::vector<uint16_t> q_bits_;        // of all rows
};

std::vector<AttnSequence> DeviceAttention::sequences(bool all) const {
  std::vector<AttnSequence> made;
  int32_t row = 0;
  for (size_t i = 0; i < lengths_.size(); ++i) {
    const int32_t rows = all ? lengths_[i].kv_len : lengths_[i].rows;
    made.push_back({row, rows, lengths_[i].kv_len, tables_[i].data()});
    row += rows;
  }
  return made;
}

KvStep DeviceAttention::upload_step(const std::vector<AttnSequence>& of, int32_t rows,
                                    StepCounts& counts) {
  const GroupShape group{kPageTokens, shape_.window};
  counts = StepWriter::count(of, group);
  const StepWriter writer(
      {rows, static_cast<int32_t>(of.size()), counts.splits, counts.prefill, counts.table_entries});
  std::vector<std::byte> host(static_cast<size_t>(writer.bytes()));
  writer.write(of, rows, group, host.data());
  return writer.view(upload(host), counts.decode, counts.prefill);
}

void DeviceAttention::append(const Shape& shape, const std::vector<Length>& lengths) {
  shape_ = shape;
  lengths_ = lengths;
  desc_ = {.heads = shape.heads,
           .scale = 1.0F / std::sqrt(static_cast<float>(shape.head_dim)),
           .window = shape.window,
           .softcap = shape.softcap};
  int32_t rows = 0;
  uint32_t pages = 0;
  for (const Length& length : lengths) {
    rows += length.kv_len;
    pages += static_cast<uint32_t>((length.kv_len + kPageTokens - 1) / kPageTokens);
  }
  std::vector<uint32_t> ids(pages);
  std::iota(ids.begin(), ids.end(), 0U);
  std::shuffle(ids.begin(), ids.end(), rng_);
  tables_.clear();
  for (const Length& length : lengths) {
    const auto count = static_cast<size_t>((length.kv_len + kPageTokens - 1) / kPageTokens);
    tables_.emplace_back(ids.end() - static_cast<ptrdiff_t>(count), ids.end());
    ids.resize(ids.size() - count);
  }
  const int64_t bytes = device::row_bytes(shape.dtype, 1);
  const int64_t plane = int64_t{shape.kv_heads} * kPageTokens * shape.head_dim * bytes;
  kv_ = {.page_bytes = 2 * plane + 64,
         .k_offset = 0,
         .v_offset = plane,
         .dtype = shape.dtype,
         .page_tokens = kPageTokens,
         .kv_heads = shape.kv_heads,
         .head_dim = shape.head_dim};
  const auto pool_bytes = static_cast<size_t>(kv_.page_bytes) * pages;
  kv_.pool = reserve<std::byte>(pool_bytes);

  const int64_t heads = shape.heads + 2 * int64_t{shape.kv_heads};
  const int64_t width = heads * shape.head_dim;
  const auto sums = random_floats(rng_, static_cast<size_t>(2 * rows * width));
  const auto bias = random_floats(rng_, static_cast<size_t>(width));
  const auto q_norm = random_floats(rng_, static_cast<size_t>(shape.head_dim));
  const auto k_norm = random_floats(rng_, static_cast<size_t>(shape.head_dim));
  const RopeTable table = make_rope_table(
      {.dim = shape.rope_dim, .base = 500.0, .style = shape.style, .max_positions = kMaxPositions});
  const auto pairs = static_cast<size_t>(shape.rope_dim) / 2;
  std::vector<float> cos(kMaxPositions * pairs);
  std::vector<float> sin(kMaxPositions * pairs);
  for (size_t position = 0; position < kMaxPositions; ++position) {
    rope_angles(table, static_cast<int32_t>(position),
                std::span(cos).subspan(position * pairs, pairs),
                std::span(sin).subspan(position * pairs, pairs));
  }
  StepCounts counts;
  RopeAppendArgs args;
  args.sums = upload(sums);
  args.splits = 2;
  if (shape.extras) {
    args.bias = upload(bias);
    args.q_norm = upload(q_norm);
    args.k_norm = upload(k_norm);
  }
  args.eps = kEps;
  args.rope = {upload(cos), upload(sin), shape.rope_dim, shape.style};
  std::vector<int32_t> positions;
  std::vector<Position> for_reference;
  for (const Length& length : lengths) {
    for (int32_t p = 0; p < length.kv_len; ++p) {
      positions.push_back(p);
      for_reference.push_back({p, p, p});
    }
  }
  args.positions = upload(positions);
  args.kv = kv_;
  args.step = upload_step(sequences(true), rows, counts);
  args.heads = shape.heads;
  args.rows = rows;
  const auto q_values =
      static_cast<size_t>(rows) * static_cast<size_t>(shape.heads * shape.head_dim);
  auto* q = reserve<uint16_t>(q_values);
  args.q = q;
  rope_append(args, stream());
  finish();
  q_bits_ = download(q, q_values);

  // The reference of the same.
  ref::Matrix x(rows, width);
  for (size_t i = 0; i < x.data.size(); ++i) {
    x.data[i] = double{sums[i]} + double{sums[i + x.data.size()]};
    if (shape.extras) x.data[i] += double{bias[i % static_cast<size_t>(width)]};
  }
  const auto part = [&](int64_t first, int64_t count) {
    ref::Matrix cut(rows, count * shape.head_dim);
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t c = 0; c < cut.cols; ++c) cut.at(r, c) = x.at(r, first * shape.head_dim + c);
    }
    return cut;
  };
  const RopeParams& rope_of = table.params;
  ref::Matrix query = part(0, shape.heads);
  ref::Matrix key = part(shape.heads, shape.kv_heads);
  const ref::Matrix value = part(shape.heads + shape.kv_heads, shape.kv_heads);
  if (shape.extras) {
    query =
        ref::rms_norm_heads(query, shape.heads, matrix_of(q_norm, 1, shape.head_dim), double{kEps});
    key = ref::rms_norm_heads(key, shape.kv_heads, matrix_of(k_norm, 1, shape.head_dim),
                              double{kEps});
  }
  query = ref::rope(rope_of, for_reference, query, shape.heads, shape.head_dim);
  key = ref::rope(rope_of, for_reference, key, shape.kv_heads, shape.head_dim);
  const DType dtype = query_dtype(shape);
  EXPECT_LE(distance(matrix_of(dtype, q_bits_, rows, query.cols), query), rounding(dtype));
  // E4M3: 3 bits of fraction, 2^-4 at most.
  const double tolerance = bytes == 1 ? 0.04 : rounding(shape.dtype);

  // What the pages hold, by sequence.
  const auto pool = download(kv_.pool, pool_bytes);
  q_.clear();
  k_.clear();
  v_.clear();
  int64_t row = 0;
  for (size_t s = 0; s < lengths.size(); ++s) {
    const int64_t cols = int64_t{shape.kv_heads} * shape.head_dim;
    ref::Matrix k(lengths[s].kv_len, cols);
    ref::Matrix v(lengths[s].kv_len, cols);
    ref::Matrix wanted_k(lengths[s].kv_len, cols);
    ref::Matrix wanted_v(lengths[s].kv_len, cols);
    for (int64_t t = 0; t < k.rows; ++t, ++row) {
      const std::byte* page =
          pool.data() + tables_[s][static_cast<size_t>(t / kPageTokens)] * kv_.page_bytes;
      for (int64_t c = 0; c < cols; ++c) {
        const int64_t at = (c / shape.head_dim * kPageTokens + t % kPageTokens) * shape.head_dim +
                           c % shape.head_dim;
        const auto number = [&](const std::byte* from) {
          if (bytes == 1) return double{from_e4m3(std::to_integer<uint8_t>(*from))};
          uint16_t bits = 0;
          std::memcpy(&bits, from, sizeof bits);
          return double{from_bits(shape.dtype, bits)};
        };
        k.at(t, c) = number(page + kv_.k_offset + bytes * at);
        v.at(t, c) = number(page + kv_.v_offset + bytes * at);
        wanted_k.at(t, c) = key.at(row, c);
        wanted_v.at(t, c) = value.at(row, c);
      }
    }
    EXPECT_LE(distance(k, wanted_k), tolerance);
    EXPECT_LE(distance(v, wanted_v), tolerance);
    k_.push_back(k);
    v_.push_back(v);
  }
}

std::vector<ref::Matrix> DeviceAttention::attend(bool plain) {
  const int64_t width = int64_t{shape_.heads} * shape_.head_dim;
  std::vector<uint16_t> q;
  q_.clear();
  int64_t row = 0;
  int32_t rows = 0;
  for (const Length& length : lengths_) {
    row += length.kv_len;
    const auto from = q_bits_.begin() + (row - length.rows) * width;
    const std::vector<uint16_t> own(from, from + length.rows * width);
    q_.push_back(matrix_of(query_dtype(shape_), own, length.rows, width));
    q.insert(q.end(), own.begin(), own.end());
    rows += length.rows;
  }
  StepCounts counts;
  AttentionArgs args;
  args.desc = desc_;
  args.kv = kv_;
  args.step = upload_step(sequences(false), rows, counts);
  args.rows = rows;
  args.q = upload(q);
  args.out_dtype = DType::kF16;
  auto* out = reserve<uint16_t>(q.size());
  args.out = out;
  args.partials = reserve<float>(
      static_cast<size_t>(attention_partial_bytes(counts.splits, shape_.heads, shape_.head_dim)) /
      sizeof(float));
  if (plain) {
    plain_attention(args, stream());
  } else {
    EXPECT_TRUE(attention_is_fast(desc_, kv_));
    if (counts.decode > 0) decode_attention(args, stream());
    if (counts.prefill > 0) prefill_attention(args, stream());
  }
  finish();
  const auto bits = download(out, q.size());
  std::vector<ref::Matrix> results;
  auto at = bits.begin();
  for (const Length& length : lengths_) {
    const std::vector<uint16_t> own(at, at + length.rows * width);
    results.push_back(matrix_of(DType::kF16, own, length.rows, width));
    at += length.rows * width;
  }
  return results;
}

std::vector<ref::Matrix> DeviceAttention::expected() const {
  std::vector<ref::Matrix> results;
  for (size_t s = 0; s < lengths_.size(); ++s) {
    results.push_back(ref::attention(desc_, shape_.kv_heads, q_[s], k_[s], v_[s]));
  }
  return results;
}

// Around the ends of splits (256 slots, the last up to 384), tiles and pages.
const std::vector<Length> kMixed = {{1, 1},   {31, 1},  {33, 33}, {256, 1},  {257, 1}, {384, 1},
                                    {385, 1}, {600, 1}, {700, 1}, {130, 65}, {300, 7}};

// Weights are rounded to the cache's type before they meet V: 2^-8 in BF16; plain sums are FP32.
double tolerance(DType dtype) {
  return dtype == DType::kBF16 ? 6e-3 : 2e-3;
}

TEST_F(DeviceAttention, EqualsTheReference) {
  const std::vector<Shape> shapes = {
      {.heads = 4, .kv_heads = 2, .head_dim = 128, .rope_dim = 128},
      {.heads = 8, .kv_heads = 1, .head_dim = 64, .rope_dim = 32, .dtype = DType::kBF16},
      {.heads = 3, .kv_heads = 3, .head_dim = 64, .rope_dim = 64, .style = RopeStyle::kInterleaved},
      {.heads = 12,
       .kv_heads = 1,
       .head_dim = 128,
       .rope_dim = 128,
       .window = 100,
       .softcap = 3.0F},
      {.heads = 16,
       .kv_heads = 1,
       .head_dim = 128,
       .rope_dim = 64,
       .dtype = DType::kBF16,
       .extras = true},
      {.heads = 4, .kv_heads = 1, .head_dim = 256, .rope_dim = 256, .window = 40, .extras = true},
      {.heads = 2, .kv_heads = 2, .head_dim = 256, .rope_dim = 256, .window = 300},
      {.heads = 8, .kv_heads = 2, .head_dim = 128, .rope_dim = 128, .dtype = DType::kF8_E4M3},
      {.heads = 9,
       .kv_heads = 1,
       .head_dim = 64,
       .rope_dim = 48,
       .dtype = DType::kF8_E4M3,
       .window = 70,
       .softcap = 4.0F,
       .style = RopeStyle::kInterleaved},
  };
  for (const Shape& shape : shapes) {
    append(shape, kMixed);
    for (const bool plain : {false, true}) {
      const auto results = attend(plain);
      const auto wanted = expected();
      for (size_t s = 0; s < wanted.size(); ++s) {
        EXPECT_LE(distance(results[s], wanted[s]), tolerance(shape.dtype))
            << "head " << shape.head_dim << " heads " << shape.heads << " sequence " << s
            << (plain ? " plain" : "");
      }
    }
    buffers_.clear();
  }
}

TEST_F(DeviceAttention, PlainTakesAnyWidth) {
  for (const int32_t head_dim : {2, 16, 48, 80, 512}) {
    append({.heads = 4, .kv_heads = 2, .head_dim = head_dim, .rope_dim = head_dim}, kMixed);
    const auto results = attend(true);
    const auto wanted = expected();
    for (size_t s = 0; s < wanted.size(); ++s) {
      EXPECT_LE(distance(results[s], wanted[s]), tolerance(DType::kF16)) << head_dim;
    }
    buffers_.clear();
  }
}

TEST_F(DeviceAttention, ChunksAndNeighboursChangeNothing) {
  for (const DType dtype : {DType::kF16, DType::kF8_E4M3}) {
    append({.heads = 8, .kv_heads = 2, .head_dim = 128, .rope_dim = 128, .dtype = dtype},
           {{500, 500}, {90, 1}, {777, 1}});
    const auto whole = attend(false);
    lengths_ = {{500, 13}, {90, 1}, {777, 1}};
    const auto tail = attend(false);
    for (int64_t r = 0; r < 13; ++r) {
      for (int64_t c = 0; c < whole[0].cols; ++c) {
        ASSERT_EQ(whole[0].at(487 + r, c), tail[0].at(r, c));
      }
    }
    EXPECT_EQ(whole[2].data, tail[2].data);
    buffers_.clear();
  }
}

}  // namespace
}  // namespace o3::kernels::cuda
