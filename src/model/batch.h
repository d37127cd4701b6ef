// SPDX-License-Identifier: Apache-2.0
// What every family does with a step's rows and pages before and after its layers.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/attention.h"
#include "model/model.h"

namespace o3::model {

// One layer's share of the pool.
struct LayerKv {
  size_t group = 0;  // index into BatchView::sequences
  kernels::PagedKv pages;
};

// The pages of every model layer; each must be in exactly one group of the layout.
std::vector<LayerKv> layer_views(const KvView& kv, size_t layers);

// The same sequences, cut down to the given batch rows (ascending): one entry per run of
// neighbouring rows. Lets a layer answer for a subset of the batch with the same results.
std::vector<kernels::AttnSequence> cut_to_rows(std::span<const kernels::AttnSequence> sequences,
                                               std::span<const int32_t> rows);

// Moves the given rows (ascending) of a host F32 matrix to its front and gives the shorter view.
kernels::TensorView keep_rows(kernels::TensorView matrix, std::span<const int32_t> rows);

// The contract of Model::forward(): sizes agree, rows ascend, logits have their shape; in debug
// builds also that token ids are in range. A breach is a bug of the caller and aborts.
void check_batch(const BatchView& batch, int32_t vocabulary, kernels::TensorView logits);

}  // namespace o3::model
