// SPDX-License-Identifier: Apache-2.0
#include "kernels/rope.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "device/cpu/cpu_backend.h"
#include "kernels/cpu/tables.h"

namespace o3::kernels {
namespace {

constexpr int64_t kGrain = 4096;  // values per thread that make a parallel run worth its barrier

}  // namespace

RopeTable make_rope_table(const RopeParams& params) {
  O3_CHECK(params.dim > 0 && params.dim % 2 == 0, "rope: dim is even");
  RopeTable table{params, {}, {}};
  const auto pairs = static_cast<size_t>(params.dim) / 2;
  const auto positions = static_cast<size_t>(params.max_positions);
  table.cos.resize(positions * pairs);
  table.sin.resize(positions * pairs);
  for (size_t i = 0; i < pairs; ++i) {
    const double frequency =
        std::pow(params.base, -2.0 * static_cast<double>(i) / static_cast<double>(params.dim));
    for (size_t p = 0; p < positions; ++p) {
      const double angle = static_cast<double>(p) * frequency;
      table.cos[p * pairs + i] = static_cast<float>(std::cos(angle));
      table.sin[p * pairs + i] = static_cast<float>(std::sin(angle));
    }
  }
  return table;
}

void rope(const RopeTable& table, std::span<const Position> positions, TensorView x, int32_t heads,
          int32_t head_dim, ExecCtx& ctx) {
  const int64_t rows = x.rows();
  const int64_t pairs = table.params.dim / 2;
  O3_CHECK(x.dtype == DType::kF32, "rope: x is F32");
  O3_CHECK(std::ssize(positions) == rows, "rope: one position per row");
  O3_CHECK(table.params.dim <= head_dim, "rope: more rotated dimensions than a head has");
  O3_CHECK(x.cols() >= int64_t{heads} * head_dim, "rope: x is narrower than its heads");
  auto& backend = static_cast<device::cpu::CpuBackend&>(ctx.backend);
  const cpu::RowOps& ops = cpu::select_row_ops(backend.isa());
  const auto rotate =
      table.params.style == RopeStyle::kInterleaved ? ops.rope_interleaved : ops.rope_half;
  const int64_t grain = std::max<int64_t>(1, kGrain / x.cols());
  backend.threads().parallel_for(rows, grain, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const int32_t position = positions[static_cast<size_t>(row)][0];
      O3_DCHECK(position >= 0 && position < table.params.max_positions, "rope: position");
      const float* cos = table.cos.data() + position * pairs;
      const float* sin = table.sin.data() + position * pairs;
      for (int32_t head = 0; head < heads; ++head) {
        rotate(x.row<float>(row) + int64_t{head} * head_dim, cos, sin, pairs);
      }
    }
  });
}

}  // namespace o3::kernels
