// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/linear_table.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace o3::kernels::cpu {
namespace {

using device::cpu::Isa;

// Sizes are bounded so that no offset of a record or matrix can overflow.
constexpr int64_t kMaxFeatures = int64_t{1} << 28U;

struct FormatRow {
  DType dtype;
  WeightFormat format;
};

constexpr std::array kFormats{
    FormatRow{DType::kF32, WeightFormat::kF32},   FormatRow{DType::kF16, WeightFormat::kF16},
    FormatRow{DType::kBF16, WeightFormat::kBF16}, FormatRow{DType::kQ4_0, WeightFormat::kQ4_0},
    FormatRow{DType::kQ4_1, WeightFormat::kQ4_1}, FormatRow{DType::kQ5_0, WeightFormat::kQ5_0},
    FormatRow{DType::kQ5_1, WeightFormat::kQ5_1}, FormatRow{DType::kQ8_0, WeightFormat::kQ8_0},
    FormatRow{DType::kQ2_K, WeightFormat::kQ2_K}, FormatRow{DType::kQ3_K, WeightFormat::kQ3_K},
    FormatRow{DType::kQ4_K, WeightFormat::kQ4_K}, FormatRow{DType::kQ5_K, WeightFormat::kQ5_K},
    FormatRow{DType::kQ6_K, WeightFormat::kQ6_K}, FormatRow{DType::kIQ4_NL, WeightFormat::kIQ4_NL},
};

bool quantized(DType dtype) {
  return device::traits(dtype).quantized;
}
bool any(DType /*dtype*/) {
  return true;
}

struct IsaRow {
  const char* name;
  Isa first_isa;  // serves backends whose ISA is in [first_isa, last_isa]
  Isa last_isa;
  bool (*serves)(DType dtype);
  int32_t lanes;
  SignedBytes bytes;
  LinearTileFn (*few)(WeightFormat format);
  LinearTileFn (*many)(WeightFormat format);
  LinearTileFn (*f32)(WeightFormat format);
  QuantizeRowFn quantize;
};

// In order of preference. VNNI multiplies unsigned by signed bytes: Q8_0 is packed with a bias.
constexpr std::array kTable{
    IsaRow{"amx", Isa::kAmx, Isa::kAmx, quantized, 16, SignedBytes::kBiased, avx512::int8_kernel,
           amx::int8_kernel, avx512::f32_kernel, avx512::quantize_row},
    IsaRow{"avx512", Isa::kAvx512, Isa::kAmx, any, 16, SignedBytes::kBiased, avx512::int8_kernel,
           avx512::int8_kernel, avx512::f32_kernel, avx512::quantize_row},
    IsaRow{"avx2", Isa::kAvx2, Isa::kAvx2, any, 8, SignedBytes::kAsIs, avx2::int8_kernel,
           avx2::int8_kernel, avx2::f32_kernel, avx2::quantize_row},
    IsaRow{"generic", Isa::kGeneric, Isa::kAmx, any, 8, SignedBytes::kAsIs, generic::int8_kernel,
           generic::int8_kernel, generic::f32_kernel, generic::quantize_row},
};

bool feasible(DType dtype, int64_t in, int64_t out) {
  return in > 0 && out > 0 && in <= kMaxFeatures && out <= kMaxFeatures &&
         in % device::traits(dtype).block_elements == 0;
}

std::string kernel_name(DType dtype, const IsaRow& row) {
  std::string name(device::traits(dtype).name);
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return name + "." + row.name;
}

Error no_kernel(DType dtype, int64_t in, int64_t out, Isa isa) {
  std::string served;
  for (const FormatRow& format : kFormats) {
    served += (served.empty() ? "" : ", ") + std::string(device::traits(format.dtype).name);
  }
  const device::DTypeTraits& traits = device::traits(dtype);
  return Error{Code::kUnsupported,
               "no CPU kernel (" + std::string(device::cpu::isa_name(isa)) + ") multiplies by a " +
                   std::string(traits.name) + " matrix of " + std::to_string(out) + " x " +
                   std::to_string(in) + "; served are " + served +
                   ", with inputs a multiple of the type's block (32, or 256 of K types)",
               ""};
}

}  // namespace

Result<LinearKernel> select_linear(DType dtype, int64_t in, int64_t out, Isa isa) {
  const auto* format = std::find_if(kFormats.begin(), kFormats.end(),
                                    [=](const FormatRow& row) { return row.dtype == dtype; });
  if (format == kFormats.end() || !feasible(dtype, in, out)) {
    return no_kernel(dtype, in, out, isa);
  }
  for (const IsaRow& row : kTable) {
    if (isa < row.first_isa || isa > row.last_isa || !row.serves(dtype)) continue;
    return LinearKernel{kernel_name(dtype, row),
                        row.lanes,
                        row.bytes,
                        row.few(format->format),
                        row.many(format->format),
                        row.f32(format->format),
                        row.quantize};
  }
  return no_kernel(dtype, in, out, isa);
}

}  // namespace o3::kernels::cpu
