// SPDX-License-Identifier: Apache-2.0
// Logits of every position of some token sequences: the core of `o3 eval logits`.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "device/backend.h"
#include "kernels/exec.h"
#include "model/model.h"

namespace o3::eval {

// One sequence per line, as a JSON list of token ids or an object with such a list under "ids".
// kInvalid names the line; an empty list is one of no tokens, an empty line an error.
Result<std::vector<std::vector<Token>>> read_id_lines(std::string_view text);

struct LogitsFileResult {
  int64_t lines = 0;
  int64_t rows = 0;  // sum of the lines' lengths
  int64_t vocabulary = 0;
};

// Writes float32 [rows, vocabulary] to `out` (NumPy format): row after row of line after line, each
// line from an empty cache. `keep_going` is asked between steps; false gives kCancelled and leaves
// no file. kTooLong: a line exceeds the context; kInvalid: a token outside the vocabulary; both
// name the line, before anything is computed.
Result<LogitsFileResult> write_logits(const model::Model& model, device::Backend& backend,
                                      const std::vector<std::vector<Token>>& lines,
                                      kernels::Compute compute, const std::filesystem::path& out,
                                      const std::function<bool()>& keep_going);

}  // namespace o3::eval
