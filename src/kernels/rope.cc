// SPDX-License-Identifier: Apache-2.0
#include "kernels/rope.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/check.h"
#include "device/cpu/cpu_backend.h"
#include "kernels/cpu/tables.h"

namespace o3::kernels {
namespace {

constexpr int64_t kGrain = 4096;  // values per thread that make a parallel run worth its barrier

bool moves_with_position(const RopeScaling& scaling, int32_t position) noexcept {
  return scaling.kind == RopeScalingKind::kDynamic && position >= scaling.original_positions;
}

// With this base the longest wave is stretched by what the position is beyond the original range.
double dynamic_base(const RopeParams& params, int32_t position) {
  const RopeScaling& scaling = params.scaling;
  if (!moves_with_position(scaling, position) || params.dim <= 2) return params.base;
  const double stretch =
      scaling.factor * (position + 1.0) / scaling.original_positions - (scaling.factor - 1.0);
  return params.base * std::pow(stretch, params.dim / (params.dim - 2.0));
}

double llama3_frequency(const RopeScaling& scaling, double frequency) {
  const double rotations = scaling.original_positions * frequency / (2.0 * std::numbers::pi);
  if (rotations <= scaling.low_frequency) return frequency / scaling.factor;
  if (rotations >= scaling.high_frequency) return frequency;
  const double smooth =
      (rotations - scaling.low_frequency) / (scaling.high_frequency - scaling.low_frequency);
  return (1.0 - smooth) * frequency / scaling.factor + smooth * frequency;
}

// The pair (a real number) that turns `rotations` times within the original positions.
double yarn_pair(const RopeParams& params, double rotations) {
  const double turns = params.scaling.original_positions / (rotations * 2.0 * std::numbers::pi);
  return params.dim * std::log(turns) / (2.0 * std::log(params.base));
}

void apply_yarn(const RopeParams& params, std::vector<double>& frequencies) {
  const RopeScaling& scaling = params.scaling;
  double low = yarn_pair(params, scaling.beta_fast);
  double high = yarn_pair(params, scaling.beta_slow);
  if (scaling.truncate) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, params.dim - 1.0);
  const double width = low == high ? 0.001 : high - low;
  for (size_t i = 0; i < frequencies.size(); ++i) {
    const double ramp = std::clamp((static_cast<double>(i) - low) / width, 0.0, 1.0);
    frequencies[i] *= ramp / scaling.factor + (1.0 - ramp);
  }
}

}  // namespace

double yarn_magnitude(double factor) noexcept {
  return factor <= 1.0 ? 1.0 : 0.1 * std::log(factor) + 1.0;
}

std::vector<double> rope_frequencies(const RopeParams& params, int32_t position) {
  O3_CHECK(params.dim > 0 && params.dim % 2 == 0, "rope: dim is even");
  const auto pairs = static_cast<size_t>(params.dim) / 2;
  O3_CHECK(params.divisors.empty() || params.divisors.size() == pairs, "rope: divisors");
  const RopeScaling& scaling = params.scaling;
  const double base = dynamic_base(params, position);
  std::vector<double> frequencies(pairs);
  for (size_t i = 0; i < pairs; ++i) {
    frequencies[i] = std::pow(base, -2.0 * static_cast<double>(i) / params.dim);
    if (!params.divisors.empty()) frequencies[i] /= static_cast<double>(params.divisors[i]);
    if (scaling.kind == RopeScalingKind::kLinear) frequencies[i] /= scaling.factor;
    if (scaling.kind == RopeScalingKind::kLlama3) {
      frequencies[i] = llama3_frequency(scaling, frequencies[i]);
    }
  }
  if (scaling.kind == RopeScalingKind::kYarn) apply_yarn(params, frequencies);
  return frequencies;
}

RopeTable make_rope_table(const RopeParams& params) {
  RopeTable table{params, {}, {}};
  const auto pairs = static_cast<size_t>(params.dim) / 2;
  const auto positions = static_cast<size_t>(params.max_positions);
  table.cos.resize(positions * pairs);
  table.sin.resize(positions * pairs);
  const double magnitude = params.scaling.magnitude;
  std::vector<double> frequencies = rope_frequencies(params, 0);
  for (size_t p = 0; p < positions; ++p) {
    const auto position = static_cast<int32_t>(p);
    if (moves_with_position(params.scaling, position)) {
      frequencies = rope_frequencies(params, position);
    }
    for (size_t i = 0; i < pairs; ++i) {
      const double angle = static_cast<double>(p) * frequencies[i];
      table.cos[p * pairs + i] = static_cast<float>(magnitude * std::cos(angle));
      table.sin[p * pairs + i] = static_cast<float>(magnitude * std::sin(angle));
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
