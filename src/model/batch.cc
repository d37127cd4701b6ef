// SPDX-License-Identifier: Apache-2.0
#include "model/batch.h"

#include <algorithm>
#include <cstring>
#include <functional>

#include "base/check.h"

namespace o3::model {

using kernels::AttnSequence;
using kernels::TensorView;

std::vector<LayerKv> layer_views(const KvView& kv, size_t layers) {
  std::vector<LayerKv> views(layers);
  size_t found = 0;
  for (size_t group = 0; group < kv.layout->groups.size(); ++group) {
    const cache::KvGroup& in = kv.layout->groups[group];
    for (size_t index = 0; index < in.layers.size(); ++index) {
      LayerKv& view = views.at(static_cast<size_t>(in.layers[index]));
      view.group = group;
      view.pages = {.pool = kv.pool,
                    .page_bytes = kv.layout->page_bytes,
                    .k_offset = in.k_offset(static_cast<int32_t>(index)),
                    .v_offset = in.v_offset(static_cast<int32_t>(index)),
                    .dtype = in.spec.dtype,
                    .page_tokens = in.page_tokens,
                    .kv_heads = in.spec.kv_heads,
                    .head_dim = in.spec.head_dim};
      ++found;
    }
  }
  O3_CHECK(found == layers, "the page layout was made for another model");
  return views;
}

std::vector<AttnSequence> cut_to_rows(std::span<const AttnSequence> sequences,
                                      std::span<const int32_t> rows) {
  std::vector<AttnSequence> runs;
  for (const AttnSequence& sequence : sequences) {
    const int32_t end = sequence.row_begin + sequence.rows;
    auto row = std::lower_bound(rows.begin(), rows.end(), sequence.row_begin);
    while (row != rows.end() && *row < end) {
      AttnSequence run{.row_begin = *row, .rows = 0, .kv_len = 0, .table = sequence.table};
      while (row != rows.end() && *row == run.row_begin + run.rows && *row < end) {
        ++run.rows;
        ++row;
      }
      run.kv_len = sequence.kv_len - (end - (run.row_begin + run.rows));
      runs.push_back(run);
    }
  }
  return runs;
}

TensorView keep_rows(TensorView matrix, std::span<const int32_t> rows) {
  const auto bytes = static_cast<size_t>(matrix.cols()) * sizeof(float);
  for (size_t to = 0; to < rows.size(); ++to) {
    // Ascending, so a row never lands on one that is still to be moved.
    std::memmove(matrix.row<std::byte>(static_cast<int64_t>(to)), matrix.row<std::byte>(rows[to]),
                 bytes);
  }
  matrix.shape[0] = static_cast<int64_t>(rows.size());
  return matrix;
}

void check_batch(const BatchView& batch, int32_t vocabulary, TensorView logits) {
  const auto rows = static_cast<int32_t>(batch.tokens.size());
  O3_CHECK(rows > 0 && batch.positions.size() == batch.tokens.size(), "one position per token");
  O3_CHECK(std::adjacent_find(batch.logit_rows.begin(), batch.logit_rows.end(),
                              std::greater_equal<>{}) == batch.logit_rows.end(),
           "logit rows ascend");
  O3_CHECK(batch.logit_rows.empty() ||
               (batch.logit_rows.front() >= 0 && batch.logit_rows.back() < rows &&
                logits.rows() == static_cast<int64_t>(batch.logit_rows.size()) &&
                logits.cols() == vocabulary),
           "logits are [logit rows, vocabulary]");
  O3_DCHECK(std::all_of(batch.tokens.begin(), batch.tokens.end(),
                        [&](Token token) { return token >= 0 && token < vocabulary; }),
            "token ids are checked at admission");
  static_cast<void>(vocabulary);
}

}  // namespace o3::model
