// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

#include "base/result.h"

namespace o3::text {

// What tokenizer.ggml.pre means for a byte-level BPE: the components of the makers' tokenizer.json.
struct PreName {
  std::string_view name;
  std::string_view normalizer;     // JSON, or empty
  std::string_view pre_tokenizer;  // JSON
  bool ignore_merges = false;
};

std::span<const PreName> known_pre_names() noexcept;

// kUnsupported lists the known names.
Result<PreName> pre_by_name(std::string_view name);

}  // namespace o3::text
