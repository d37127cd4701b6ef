// SPDX-License-Identifier: Apache-2.0
#include "eval/logits.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "eval/model_session.h"

namespace o3::eval {

Result<std::vector<std::vector<float>>> sequence_logits(const model::Model& model,
                                                        device::Backend& backend,
                                                        std::span<const Token> tokens,
                                                        std::span<const int32_t> rows,
                                                        const LogitsOptions& options) {
  if (options.chunk < 1) return invalid("chunk must be at least 1", "chunk");
  const auto total = static_cast<int32_t>(tokens.size());
  SessionLimits limits;
  limits.context = total;
  limits.step_rows = std::min(options.chunk, total);
  limits.step_logits = limits.step_rows;
  O3_ASSIGN(const std::unique_ptr<ModelSession> session,
            ModelSession::create(model, backend, options.compute, limits));
  std::vector<std::vector<float>> logits;
  auto next = rows.begin();
  for (int32_t begin = 0; begin < total;) {
    const int32_t count = std::min(limits.step_rows, total - begin);
    std::vector<int32_t> wanted;
    for (; next != rows.end() && *next < begin + count; ++next) wanted.push_back(*next - begin);
    const Feed feed{.sequence = 0,
                    .tokens = tokens.subspan(static_cast<size_t>(begin), size_t(count))};
    O3_ASSIGN(const kernels::TensorView values, session->step({&feed, 1}, wanted));
    for (size_t row = 0; row < wanted.size(); ++row) {
      const float* from = values.row<const float>(static_cast<int64_t>(row));
      logits.emplace_back(from, from + values.cols());
    }
    begin += count;
  }
  return logits;
}

}  // namespace o3::eval
