// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/cpu/attention_tile.h"
#include "kernels/cpu/half.h"

namespace o3::kernels::cpu::generic {
namespace {

constexpr float kNothing = -std::numeric_limits<float>::infinity();

const uint8_t* slot_data(const AttnTile& tile, const uint8_t* base, int32_t slot) {
  const int64_t page = tile.table[slot / tile.page_tokens];
  const int64_t bytes = tile.half ? 2 : 4;
  return base + page * tile.page_bytes + slot % tile.page_tokens * tile.head_dim * bytes;
}

float element(const AttnTile& tile, const uint8_t* data, int32_t i) {
  if (tile.half) return load_half(data + int64_t{2} * i);
  float value = 0;
  std::memcpy(&value, data + int64_t{4} * i, sizeof value);
  return value;
}

float score(const AttnTile& tile, int32_t vector, int32_t slot) {
  const uint8_t* k = slot_data(tile, tile.k, slot);
  float dot = 0;
  for (int32_t i = 0; i < tile.head_dim; ++i) dot += tile.q[vector][i] * element(tile, k, i);
  const float s = dot * tile.scale;
  return tile.softcap > 0 ? tile.softcap * std::tanh(s / tile.softcap) : s;
}

void attend_vector(const AttnTile& tile, int32_t vector) {
  float* acc = tile.out.acc + static_cast<int64_t>(vector) * tile.head_dim;
  std::fill_n(acc, tile.head_dim, 0.0F);
  tile.out.max[vector] = kNothing;
  tile.out.sum[vector] = 0;
  const int32_t low = std::max(tile.begin, tile.low[vector]);
  const int32_t high = std::min(tile.end, tile.high[vector]);
  if (low >= high) return;

  float* scores = tile.scratch;
  float largest = kNothing;
  for (int32_t slot = low; slot < high; ++slot) {
    scores[slot - low] = score(tile, vector, slot);
    largest = std::max(largest, scores[slot - low]);
  }
  float sum = 0;
  for (int32_t slot = low; slot < high; ++slot) {
    const float p = std::exp(scores[slot - low] - largest);
    const uint8_t* v = slot_data(tile, tile.v, slot);
    for (int32_t i = 0; i < tile.head_dim; ++i) acc[i] += p * element(tile, v, i);
    sum += p;
  }
  tile.out.max[vector] = largest;
  tile.out.sum[vector] = sum;
}

}  // namespace

void attend_split(const AttnTile& tile) {
  for (int32_t vector = 0; vector < tile.vectors; ++vector) attend_vector(tile, vector);
}

void merge_split(const Partial& into, const Partial& more, int32_t vectors, int32_t head_dim) {
  for (int32_t vector = 0; vector < vectors; ++vector) {
    if (more.max[vector] == kNothing) continue;
    const float largest = std::max(into.max[vector], more.max[vector]);
    // exp(-inf) = 0 where `into` is still empty.
    const float a = std::exp(into.max[vector] - largest);
    const float b = std::exp(more.max[vector] - largest);
    const int64_t at = static_cast<int64_t>(vector) * head_dim;
    for (int32_t i = 0; i < head_dim; ++i) {
      into.acc[at + i] = into.acc[at + i] * a + more.acc[at + i] * b;
    }
    into.max[vector] = largest;
    into.sum[vector] = into.sum[vector] * a + more.sum[vector] * b;
  }
}

}  // namespace o3::kernels::cpu::generic
