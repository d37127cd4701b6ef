// SPDX-License-Identifier: Apache-2.0
// Components as tokenizer.json describes them. null gives null. kUnsupported names a type or an
// option that is not known; kInvalid what a component lacks.
#pragma once

#include <optional>
#include <vector>

#include "base/result.h"
#include "text/hf/json_tree.h"
#include "text/model/vocabulary.h"
#include "text/normalize/normalizer.h"
#include "text/split/pre_tokenizer.h"
#include "text/token_decoder.h"
#include "text/tokenizer.h"

namespace o3::text {

Result<NormalizerPtr> parse_normalizer(const std::optional<JsonValue>& json);

struct ParsedPreTokenizer {
  PreTokenizerPtr steps;
  bool byte_level = false;  // the model sees bytes
};
Result<ParsedPreTokenizer> parse_pre_tokenizer(const std::optional<JsonValue>& json);

Result<TokenDecoder> parse_decoder(const std::optional<JsonValue>& json);

// What it puts around one text; its tokens must be in the vocabulary.
Result<Frame> parse_post_processor(const std::optional<JsonValue>& json,
                                   const Vocabulary& vocabulary);

}  // namespace o3::text
