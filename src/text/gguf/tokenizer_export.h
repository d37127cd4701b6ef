// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include "base/result.h"
#include "text/tokenizer_spec.h"

namespace o3::text {

// The tokenizer.json of a GGUF tokenizer: "gpt2", "llama" and "gemma4" models. kUnsupported for
// others. Scores become merges as Hugging Face's converter makes them of SentencePiece files: all
// pairs that make a token, by that token's score.
Result<nlohmann::ordered_json> tokenizer_json(const TokenizerSpec& spec);

}  // namespace o3::text
