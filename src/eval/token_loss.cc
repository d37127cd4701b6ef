// SPDX-License-Identifier: Apache-2.0
#include "eval/token_loss.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>

#include "base/check.h"
#include "device/cpu/cpu_backend.h"
#include "kernels/exp_nonpositive.h"

namespace o3::eval {
namespace {

constexpr int64_t kLanes = 16;  // independent accumulators, so that the loops can be vectorised

// NaN is never the largest.
float maximum(const float* row, int64_t count) noexcept {
  std::array<float, kLanes> best{};
  best.fill(-std::numeric_limits<float>::infinity());
  int64_t at = 0;
  for (; at + kLanes <= count; at += kLanes) {
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      const float value = row[at + lane];
      best[static_cast<size_t>(lane)] =
          value > best[static_cast<size_t>(lane)] ? value : best[static_cast<size_t>(lane)];
    }
  }
  float most = *std::max_element(best.begin(), best.end());
  for (; at < count; ++at) most = row[at] > most ? row[at] : most;
  return most;
}

double sum_of_exponentials(const float* row, int64_t count, float shift) noexcept {
  std::array<double, kLanes> sums{};
  int64_t at = 0;
  for (; at + kLanes <= count; at += kLanes) {
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      sums[static_cast<size_t>(lane)] +=
          static_cast<double>(kernels::exp_nonpositive(row[at + lane] - shift));
    }
  }
  double total = 0.0;
  for (const double sum : sums) total += sum;
  for (; at < count; ++at) total += static_cast<double>(kernels::exp_nonpositive(row[at] - shift));
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
