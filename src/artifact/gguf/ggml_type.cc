// SPDX-License-Identifier: Apache-2.0
#include "artifact/gguf/ggml_type.h"

#include <array>

#include "base/check.h"

namespace o3::artifact {
namespace {

// Index = ggml type number; empty: removed from ggml.
constexpr std::array<std::string_view, 40> kNames{
    "F32",     "F16",    "Q4_0",    "Q4_1",  "",       "",      "Q5_0",  "Q5_1",
    "Q8_0",    "Q8_1",   "Q2_K",    "Q3_K",  "Q4_K",   "Q5_K",  "Q6_K",  "Q8_K",
    "IQ2_XXS", "IQ2_XS", "IQ3_XXS", "IQ1_S", "IQ4_NL", "IQ3_S", "IQ2_S", "IQ4_XS",
    "I8",      "I16",    "I32",     "I64",   "F64",    "IQ1_M", "BF16",  "",
    "",        "",       "TQ1_0",   "TQ2_0", "",       "",      "",      "MXFP4"};

}  // namespace

std::string_view ggml_type_name(uint32_t number) noexcept {
  return number < kNames.size() ? kNames[number] : std::string_view{};
}

std::optional<device::DType> dtype_from_ggml(uint32_t number) noexcept {
  const std::string_view name = ggml_type_name(number);
  if (name.empty()) return std::nullopt;
  return device::dtype_from_name(name);
}

uint32_t ggml_from_dtype(device::DType dtype) noexcept {
  const std::string_view name = device::traits(dtype).name;
  for (uint32_t number = 0; number < kNames.size(); ++number) {
    if (kNames[number] == name) return number;
  }
  check_failed(__FILE__, __LINE__, "kNames has dtype", "every dtype has a ggml number");
}

}  // namespace o3::artifact
