// SPDX-License-Identifier: Apache-2.0
// Rotary position embedding (Su et al. 2021). Tables are computed once, in double, for the maximum
// length (spec A13), and stay small however long that is.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/exec.h"

namespace o3::kernels {

// Positions have three coordinates so that multimodal RoPE fits later; text uses {p, p, p}.
using Position = std::array<int32_t, 3>;

// kInterleaved: pairs (2i, 2i+1), as GGUF llama files want (Q/K rows permuted). kHalf: pairs
// (i, i + dim/2), as Hugging Face checkpoints want.
enum class RopeStyle : uint8_t { kInterleaved, kHalf };

// How a model was stretched beyond the positions it was trained on.
enum class RopeScalingKind : uint8_t {
  kNone,
  kLinear,   // every frequency / factor (Chen et al. 2023)
  kDynamic,  // the base grows with the position once it is beyond original_positions ("NTK-aware")
  kLlama3,   // long waves / factor, short ones kept, a ramp between (Llama 3.1)
  kYarn,     // the same by rotations, and a magnitude (Peng et al. 2023)
};

struct RopeScaling {
  RopeScalingKind kind = RopeScalingKind::kNone;
  double factor = 1.0;
  int32_t original_positions = 0;  // kDynamic, kLlama3, kYarn
  double low_frequency = 1.0;      // kLlama3
  double high_frequency = 4.0;
  double beta_fast = 32.0;  // kYarn
  double beta_slow = 1.0;
  bool truncate = true;    // kYarn: borders of the ramp are whole pairs
  double magnitude = 1.0;  // cos and sin are multiplied by it
};

struct RopeParams {
  int32_t dim = 0;  // rotated dimensions of each head, even
  double base = 10000.0;
  RopeStyle style = RopeStyle::kInterleaved;
  int32_t max_positions = 0;
  RopeScaling scaling{};
  std::vector<float> divisors{};  // [dim/2], of the frequencies; empty: 1
};

// Angles add up, so two short tables make a long one: position p turns by coarse row p / kSpan and
// fine row p % kSpan. 131,072 positions of 64 pairs take 0.8 MB instead of 67.
struct RopeTable {
  static constexpr int32_t kSpan = 512;

  RopeParams params;
  std::vector<double> coarse;  // [max_positions / kSpan rounded up, dim/2, {cos, sin}]
  std::vector<double> fine;    // [kSpan, dim/2, {cos, sin}]
};

// Radians per position of each pair [dim/2], for a row at `position` (kDynamic depends on it: the
// rotation of a row never changes once it is in the cache, as in a decode of the reference).
std::vector<double> rope_frequencies(const RopeParams& params, int32_t position);

// The magnitude that YaRN gives attention when a model does not say it: 0.1 ln(factor) + 1.
double yarn_magnitude(double factor) noexcept;

RopeTable make_rope_table(const RopeParams& params);

// cos[dim/2] and sin[dim/2] of one position, times the magnitude. Beyond the original positions of
// kDynamic frequencies are worked out anew: microseconds per row, no memory.
void rope_angles(const RopeTable& table, int32_t position, std::span<float> cos,
                 std::span<float> sin);

// Rotates in place the first `heads` heads of every row of x[n, >= heads * head_dim].
void rope(const RopeTable& table, std::span<const Position> positions, TensorView x, int32_t heads,
          int32_t head_dim, ExecCtx& ctx);

}  // namespace o3::kernels
