// SPDX-License-Identifier: Apache-2.0
#include "eval/token_loss.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

#include "base/check.h"
#include "device/cpu/cpu_backend.h"

namespace o3::eval {
namespace {

constexpr int64_t kLanes = 16;  // independent accumulators, so that the loops can be vectorised

// e^x for x <= 0: x = n ln 2 + r with |r| <= ln 2 / 2, a polynomial for e^r, n added to the
// exponent. Plain arithmetic without branches: the compiler vectorises it, which std::exp is not.
// Below -87 the result would be subnormal; it is cut there, 1e-38 of the maximum.
inline float exp_negative(float x) noexcept {
  constexpr float kLog2e = 1.44269504088896341F;
  constexpr float kLn2High = 0.693145751953125F;  // few bits, so n * kLn2High is exact
  constexpr float kLn2Low = 1.42860677e-6F;
  constexpr float kRound = 12582912.0F;  // 1.5 * 2^23: adding it rounds to an integer
  const float clamped = x < -87.0F ? -87.0F : x;
  const float shifted = clamped * kLog2e + kRound;
  const float n = shifted - kRound;
  const float r = (clamped - n * kLn2High) - n * kLn2Low;
  float p = 1.0F / 5040.0F;  // Taylor: the remainder is below 6e-9 for |r| <= 0.35
  p = p * r + 1.0F / 720.0F;
  p = p * r + 1.0F / 120.0F;
  p = p * r + 1.0F / 24.0F;
  p = p * r + 1.0F / 6.0F;
  p = p * r + 0.5F;
  p = p * r + 1.0F;
  p = p * r + 1.0F;
  const int32_t exponent = std::bit_cast<int32_t>(shifted) - std::bit_cast<int32_t>(kRound);
  return std::bit_cast<float>(std::bit_cast<int32_t>(p) + exponent * (1 << 23));
}

float maximum(const float* row, int64_t count) noexcept {
  std::array<float, kLanes> best{};
  best.fill(row[0]);
  int64_t at = 0;
  for (; at + kLanes <= count; at += kLanes) {
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      const float value = row[at + lane];
      best[static_cast<size_t>(lane)] =
          value > best[static_cast<size_t>(lane)] ? value : best[static_cast<size_t>(lane)];
    }
  }
  float most = *std::max_element(best.begin(), best.end());
  for (; at < count; ++at) most = std::max(most, row[at]);
  return most;
}

double sum_of_exponentials(const float* row, int64_t count, float shift) noexcept {
  std::array<double, kLanes> sums{};
  int64_t at = 0;
  for (; at + kLanes <= count; at += kLanes) {
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      sums[static_cast<size_t>(lane)] += static_cast<double>(exp_negative(row[at + lane] - shift));
    }
  }
  double total = 0.0;
  for (const double sum : sums) total += sum;
  for (; at < count; ++at) total += static_cast<double>(exp_negative(row[at] - shift));
  return total;
}

double loss_of_row(const float* row, int64_t count, Token target) noexcept {
  const float shift = maximum(row, count);
  const double sum = sum_of_exponentials(row, count, shift);
  return static_cast<double>(shift) + std::log(sum) - static_cast<double>(row[target]);
}

}  // namespace

void token_losses(kernels::TensorView logits, std::span<const Token> targets,
                  std::span<double> losses, device::Backend& backend) {
  O3_CHECK(logits.rows() == static_cast<int64_t>(targets.size()) && losses.size() == targets.size(),
           "one target and one loss per row");
  const auto range = [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const auto index = static_cast<size_t>(row);
      losses[index] = loss_of_row(logits.row<const float>(row), logits.cols(), targets[index]);
    }
  };
  if (backend.kind() == device::BackendKind::kCpu) {
    static_cast<device::cpu::CpuBackend&>(backend).threads().parallel_for(logits.rows(), 1, range);
  } else {
    range(0, logits.rows());
  }
}

}  // namespace o3::eval
