// SPDX-License-Identifier: Apache-2.0
#include "device/dtype.h"

#include <array>
#include <cstddef>

#include "base/check.h"

namespace o3::device {
namespace {

// In the order of DType. Block layouts: ggml's ggml-common.h, as its GGUF files store them.
constexpr std::array<DTypeTraits, 17> kTraits{{
    {"F32", 1, 4, false},
    {"F16", 1, 2, false},
    {"BF16", 1, 2, false},
    {"I8", 1, 1, false},
    {"I32", 1, 4, false},
    {"Q4_0", 32, 18, true},    // f16 d, 16 x 2 nibbles
    {"Q4_1", 32, 20, true},    // f16 d, f16 m, nibbles
    {"Q5_0", 32, 22, true},    // f16 d, 32 high bits, nibbles
    {"Q5_1", 32, 24, true},    // f16 d, f16 m, 32 high bits, nibbles
    {"Q8_0", 32, 34, true},    // f16 d, 32 x i8
    {"Q2_K", 256, 84, true},   // 16 scales/mins, 64 B of 2-bit, f16 d, f16 dmin
    {"Q3_K", 256, 110, true},  // 32 B of high bits, 64 B of 2-bit, 12 B of scales, f16 d
    {"Q4_K", 256, 144, true},  // f16 d, f16 dmin, 12 B of scales, nibbles
    {"Q5_K", 256, 176, true},  // as Q4_K with 32 B of high bits
    {"Q6_K", 256, 210, true},  // nibbles, 64 B of 2-bit, 16 x i8 scales, f16 d
    {"IQ4_NL", 32, 18, true},  // as Q4_0 over a non-linear codebook
    {"F8_E4M3", 1, 1, false},  // of GPUs: up to 448, no infinities
}};
static_assert(kTraits.size() == static_cast<size_t>(DType::kF8_E4M3) + 1);

}  // namespace

const DTypeTraits& traits(DType dtype) noexcept {
  const auto index = static_cast<size_t>(dtype);
  O3_CHECK(index < kTraits.size(), "unknown dtype");
  return kTraits[index];
}

std::optional<DType> dtype_from_name(std::string_view name) noexcept {
  for (size_t i = 0; i < kTraits.size(); ++i) {
    if (kTraits[i].name == name) return static_cast<DType>(i);
  }
  return std::nullopt;
}

int64_t row_bytes(DType dtype, int64_t elements) noexcept {
  const DTypeTraits& t = traits(dtype);
  O3_DCHECK(elements >= 0 && elements % t.block_elements == 0, "row of partial blocks");
  return elements / t.block_elements * t.block_bytes;
}

}  // namespace o3::device
