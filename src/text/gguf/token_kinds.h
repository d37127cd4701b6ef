// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "base/result.h"
#include "text/tokenizer_spec.h"

namespace o3::text {

// By id, as tokenizer.ggml.token_type has them; but bos, eos, `ends` and texts that only ever end a
// turn or a document are control tokens whatever the file says. kInvalid: an id outside the
// vocabulary, an unknown kind, not one for each token.
Result<std::vector<TokenKind>> token_kinds(const TokenizerSpec& spec);

}  // namespace o3::text
