// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/linear_table.h"

#include <array>
#include <string>

namespace o3::kernels::cpu {
namespace {

using device::cpu::Isa;

// Sizes are bounded so that no offset of a record or matrix can overflow.
constexpr int64_t kMaxFeatures = int64_t{1} << 28U;

bool any_shape(int64_t in, int64_t out) {
  return in > 0 && out > 0 && in <= kMaxFeatures && out <= kMaxFeatures;
}
bool whole_blocks(int64_t in, int64_t out) {
  return any_shape(in, out) && in % kBlock == 0;
}

constexpr Isa kAnyFirst = Isa::kGeneric;
constexpr Isa kAnyLast = Isa::kAmx;

// In order of preference. VNNI multiplies unsigned by signed bytes: Q8_0 is packed with a bias.
constexpr std::array kTable{
    LinearKernel{"q4_1.amx", Isa::kAmx, Isa::kAmx, DType::kQ4_1, 16, SignedBytes::kAsIs,
                 amx::linear_q4_1, avx512::linear_q4_1_f32, avx512::quantize_row, whole_blocks},
    LinearKernel{"q4_0.amx", Isa::kAmx, Isa::kAmx, DType::kQ4_0, 16, SignedBytes::kAsIs,
                 amx::linear_q4_0, avx512::linear_q4_0_f32, avx512::quantize_row, whole_blocks},
    LinearKernel{"q8_0.amx", Isa::kAmx, Isa::kAmx, DType::kQ8_0, 16, SignedBytes::kBiased,
                 amx::linear_q8_0, avx512::linear_q8_0_f32, avx512::quantize_row, whole_blocks},

    LinearKernel{"q4_1.avx512", Isa::kAvx512, Isa::kAmx, DType::kQ4_1, 16, SignedBytes::kAsIs,
                 avx512::linear_q4_1, avx512::linear_q4_1_f32, avx512::quantize_row, whole_blocks},
    LinearKernel{"q4_0.avx512", Isa::kAvx512, Isa::kAmx, DType::kQ4_0, 16, SignedBytes::kAsIs,
                 avx512::linear_q4_0, avx512::linear_q4_0_f32, avx512::quantize_row, whole_blocks},
    LinearKernel{"q8_0.avx512", Isa::kAvx512, Isa::kAmx, DType::kQ8_0, 16, SignedBytes::kBiased,
                 avx512::linear_q8_0, avx512::linear_q8_0_f32, avx512::quantize_row, whole_blocks},
    LinearKernel{"f32.avx512", Isa::kAvx512, Isa::kAmx, DType::kF32, 16, SignedBytes::kAsIs,
                 nullptr, avx512::linear_f32, nullptr, any_shape},
    LinearKernel{"f16.avx512", Isa::kAvx512, Isa::kAmx, DType::kF16, 16, SignedBytes::kAsIs,
                 nullptr, avx512::linear_f16, nullptr, any_shape},
    LinearKernel{"bf16.avx512", Isa::kAvx512, Isa::kAmx, DType::kBF16, 16, SignedBytes::kAsIs,
                 nullptr, avx512::linear_bf16, nullptr, any_shape},

    LinearKernel{"q4_1.avx2", Isa::kAvx2, Isa::kAvx2, DType::kQ4_1, 8, SignedBytes::kAsIs,
                 avx2::linear_q4_1, avx2::linear_q4_1_f32, avx2::quantize_row, whole_blocks},
    LinearKernel{"q4_0.avx2", Isa::kAvx2, Isa::kAvx2, DType::kQ4_0, 8, SignedBytes::kAsIs,
                 avx2::linear_q4_0, avx2::linear_q4_0_f32, avx2::quantize_row, whole_blocks},
    LinearKernel{"q8_0.avx2", Isa::kAvx2, Isa::kAvx2, DType::kQ8_0, 8, SignedBytes::kAsIs,
                 avx2::linear_q8_0, avx2::linear_q8_0_f32, avx2::quantize_row, whole_blocks},
    LinearKernel{"f32.avx2", Isa::kAvx2, Isa::kAvx2, DType::kF32, 8, SignedBytes::kAsIs, nullptr,
                 avx2::linear_f32, nullptr, any_shape},
    LinearKernel{"f16.avx2", Isa::kAvx2, Isa::kAvx2, DType::kF16, 8, SignedBytes::kAsIs, nullptr,
                 avx2::linear_f16, nullptr, any_shape},
    LinearKernel{"bf16.avx2", Isa::kAvx2, Isa::kAvx2, DType::kBF16, 8, SignedBytes::kAsIs, nullptr,
                 avx2::linear_bf16, nullptr, any_shape},

    LinearKernel{"q4_1.generic", kAnyFirst, kAnyLast, DType::kQ4_1, 8, SignedBytes::kAsIs,
                 generic::linear_q4_1, generic::linear_q4_1_f32, generic::quantize_row,
                 whole_blocks},
    LinearKernel{"q4_0.generic", kAnyFirst, kAnyLast, DType::kQ4_0, 8, SignedBytes::kAsIs,
                 generic::linear_q4_0, generic::linear_q4_0_f32, generic::quantize_row,
                 whole_blocks},
    LinearKernel{"q8_0.generic", kAnyFirst, kAnyLast, DType::kQ8_0, 8, SignedBytes::kAsIs,
                 generic::linear_q8_0, generic::linear_q8_0_f32, generic::quantize_row,
                 whole_blocks},
    LinearKernel{"f32.generic", kAnyFirst, kAnyLast, DType::kF32, 8, SignedBytes::kAsIs, nullptr,
                 generic::linear_f32, nullptr, any_shape},
    LinearKernel{"f16.generic", kAnyFirst, kAnyLast, DType::kF16, 8, SignedBytes::kAsIs, nullptr,
                 generic::linear_f16, nullptr, any_shape},
    LinearKernel{"bf16.generic", kAnyFirst, kAnyLast, DType::kBF16, 8, SignedBytes::kAsIs, nullptr,
                 generic::linear_bf16, nullptr, any_shape},
};

}  // namespace

Result<const LinearKernel*> select_linear(DType dtype, int64_t in, int64_t out, Isa isa) {
  std::string served;
  for (const LinearKernel& kernel : kTable) {
    if (isa < kernel.first_isa || isa > kernel.last_isa) continue;
    if (kernel.dtype == dtype && kernel.feasible(in, out)) return &kernel;
    const std::string name(device::traits(kernel.dtype).name);
    if (served.find(name) == std::string::npos) served += (served.empty() ? "" : ", ") + name;
  }
  return unsupported("no CPU kernel (" + std::string(device::cpu::isa_name(isa)) +
                     ") multiplies by a " + std::string(device::traits(dtype).name) +
                     " matrix of " + std::to_string(out) + " x " + std::to_string(in) +
                     "; served are " + served + ", block types with inputs a multiple of 32");
}

}  // namespace o3::kernels::cpu
