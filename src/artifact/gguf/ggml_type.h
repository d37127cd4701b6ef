// SPDX-License-Identifier: Apache-2.0
// The numbers GGUF files use for tensor types (ggml.h, enum ggml_type).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "device/dtype.h"

namespace o3::artifact {

// Name of a ggml type number, also of types that this build cannot hold ("IQ2_XXS"); empty for
// numbers that ggml never assigned or has removed.
std::string_view ggml_type_name(uint32_t number) noexcept;

// The dtype of a ggml type number; nothing when DType has no such type.
std::optional<device::DType> dtype_from_ggml(uint32_t number) noexcept;
uint32_t ggml_from_dtype(device::DType dtype) noexcept;

}  // namespace o3::artifact
