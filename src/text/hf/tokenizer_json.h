// SPDX-License-Identifier: Apache-2.0
// Tokenizers from Hugging Face's tokenizer.json.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "text/tokenizer.h"

namespace o3::text {

// What tokenizer_config.json says beside it; texts of tokens.
struct TokenizerNames {
  std::optional<std::string> bos;
  std::optional<std::string> eos;
  std::optional<bool> add_bos;  // else the post-processor says
};

// The text need not outlive the call. kUnsupported names the component or option that is not
// known, kInvalid what is wrong.
Result<std::unique_ptr<Tokenizer>> load_tokenizer_json(std::string_view json,
                                                       const TokenizerNames& names = {});

}  // namespace o3::text
