// SPDX-License-Identifier: Apache-2.0
// Rotary position embedding (Su et al. 2021). Tables are computed once, in double, for the maximum
// length (spec A13).
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

struct RopeParams {
  int32_t dim = 0;  // rotated dimensions of each head, even
  double base = 10000.0;
  RopeStyle style = RopeStyle::kInterleaved;
  int32_t max_positions = 0;
};

struct RopeTable {
  RopeParams params;
  std::vector<float> cos;  // [max_positions, dim/2]
  std::vector<float> sin;
};

RopeTable make_rope_table(const RopeParams& params);

// Rotates in place the first `heads` heads of every row of x[n, >= heads * head_dim].
void rope(const RopeTable& table, std::span<const Position> positions, TensorView x, int32_t heads,
          int32_t head_dim, ExecCtx& ctx);

}  // namespace o3::kernels
