// SPDX-License-Identifier: Apache-2.0
#include "kernels/rope.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "base/check.h"
#include "device/cpu/cpu_backend.h"
#include "kernels/cpu/tables.h"

namespace o3::kernels {
namespace {

constexpr size_t kMaxPairs = 512;  // of one head
constexpr int64_t kGrain = 4096;   // values per thread that make a parallel run worth its barrier

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
  const std::vector<double> frequencies = rope_frequencies(params, 0);
  const auto turns = [&](int32_t count, int32_t step) {
    std::vector<double> rows;
    rows.reserve(static_cast<size_t>(count) * frequencies.size() * 2);
    for (int32_t row = 0; row < count; ++row) {
      for (const double frequency : frequencies) {
        const double angle = static_cast<double>(row) * step * frequency;
        rows.push_back(std::cos(angle));
        rows.push_back(std::sin(angle));
      }
    }
    return rows;
  };
  constexpr int32_t kSpan = RopeTable::kSpan;
  return {params, turns((params.max_positions + kSpan - 1) / kSpan, kSpan), turns(kSpan, 1)};
}

void rope_angles(const RopeTable& table, int32_t position, std::span<float> cos,
                 std::span<float> sin) {
  const RopeParams& params = table.params;
  const double magnitude = params.scaling.magnitude;
  const size_t pairs = cos.size();
  if (moves_with_position(params.scaling, position)) {
    const std::vector<double> frequencies = rope_frequencies(params, position);
    for (size_t i = 0; i < pairs; ++i) {
      const double angle = position * frequencies[i];
      cos[i] = static_cast<float>(magnitude * std::cos(angle));
      sin[i] = static_cast<float>(magnitude * std::sin(angle));
    }
    return;
  }
  const auto row = [pairs](const std::vector<double>& rows, int32_t index) {
    return rows.data() + static_cast<size_t>(index) * pairs * 2;
  };
  const double* a = row(table.coarse, position / RopeTable::kSpan);
  const double* b = row(table.fine, position % RopeTable::kSpan);
  for (size_t i = 0; i < pairs; ++i, a += 2, b += 2) {
    cos[i] = static_cast<float>(magnitude * (a[0] * b[0] - a[1] * b[1]));
    sin[i] = static_cast<float>(magnitude * (a[1] * b[0] + a[0] * b[1]));
  }
}

void rope(const RopeTable& table, std::span<const Position> positions, TensorView x, int32_t heads,
          int32_t head_dim, ExecCtx& ctx) {
  const int64_t rows = x.rows();
  const auto pairs = static_cast<size_t>(table.params.dim) / 2;
  O3_CHECK(x.dtype == DType::kF32, "rope: x is F32");
  O3_CHECK(std::ssize(positions) == rows, "rope: one position per row");
  O3_CHECK(table.params.dim <= head_dim, "rope: more rotated dimensions than a head has");
  O3_CHECK(pairs <= kMaxPairs, "rope: more rotated dimensions than there is room for");
  O3_CHECK(x.cols() >= int64_t{heads} * head_dim, "rope: x is narrower than its heads");
  auto& backend = static_cast<device::cpu::CpuBackend&>(ctx.backend);
  const cpu::RowOps& ops = cpu::select_row_ops(backend.isa());
  const auto rotate =
      table.params.style == RopeStyle::kInterleaved ? ops.rope_interleaved : ops.rope_half;
  const int64_t grain = std::max<int64_t>(1, kGrain / x.cols());
  backend.threads().parallel_for(rows, grain, [&](int64_t begin, int64_t end) {
    std::array<float, kMaxPairs> cos;
    std::array<float, kMaxPairs> sin;
    for (int64_t row = begin; row < end; ++row) {
      const int32_t position = positions[static_cast<size_t>(row)][0];
      O3_DCHECK(position >= 0 && position < table.params.max_positions, "rope: position");
      rope_angles(table, position, std::span(cos).first(pairs), std::span(sin).first(pairs));
      for (int32_t head = 0; head < heads; ++head) {
        rotate(x.row<float>(row) + int64_t{head} * head_dim, cos.data(), sin.data(),
               static_cast<int64_t>(pairs));
      }
    }
  });
}

}  // namespace o3::kernels
