// SPDX-License-Identifier: Apache-2.0
#include "model/footprint.h"

#include <algorithm>
#include <array>
#include <span>

#include "kernels/attention.h"
#include "model/arena.h"
#include "model/decoder.h"
#include "model/decoder_tensors.h"

namespace o3::model {
namespace {

using device::TensorView;
using kernels::LinearSize;

int64_t tensor_bytes(const TensorView& view) noexcept {
  return view.rows() * view.row_stride;
}

int64_t vector_bytes(const TensorView& view) noexcept {  // kept as F32
  return view.data == nullptr ? 0 : view.cols() * int64_t{sizeof(float)};
}

class Measurer {
 public:
  Measurer(device::Backend& backend, Footprint& footprint)
      : backend_(backend), footprint_(footprint) {}

  Result<void> run(const DecoderTensors& tensors) {
    for (const LayerTensors& layer : tensors.layers) O3_TRY(add_layer(layer));
    footprint_.weight_bytes += vector_bytes(tensors.output_norm);
    O3_TRY(add({&tensors.head, 1}, footprint_.head));
    footprint_.embedding_bytes = tensor_bytes(tensors.embedding);
    return {};
  }

 private:
  Result<void> add_layer(const LayerTensors& layer) {
    const AttentionWeights& attention = layer.attention;
    const std::array qkv{attention.q, attention.k, attention.v};
    O3_TRY(add(qkv, footprint_.qkv));
    O3_TRY(add({&attention.output, 1}, footprint_.attention_output));
    const std::array gate_up{layer.ffn.gate, layer.ffn.up};
    O3_TRY(add(gate_up, footprint_.gate_up));
    O3_TRY(add({&layer.ffn.down, 1}, footprint_.down));
    for (const TensorView& vector :
         {layer.attention_norm, layer.ffn_norm, layer.post_attention_norm, layer.post_ffn_norm,
          attention.q_norm, attention.k_norm, attention.bias[0], attention.bias[1],
          attention.bias[2]}) {
      footprint_.weight_bytes += vector_bytes(vector);
    }
    return {};
  }

  // Neighbours of one type are packed together, as LinearLayer does.
  Result<void> add(std::span<const TensorView> parts, std::vector<LinearSize>& sizes) {
    while (!parts.empty()) {
      size_t count = 0;
      int64_t out = 0;
      for (; count < parts.size() && parts[count].dtype == parts[0].dtype; ++count) {
        out += parts[count].shape[0];
      }
      O3_ASSIGN(const LinearSize size,
                kernels::linear_size(parts[0].dtype, parts[0].cols(), out, backend_));
      footprint_.weight_bytes += size.weight_bytes;
      // Workspace depends on these two alone, so one of a kind is enough.
      const auto same = [&](const LinearSize& other) {
        return other.in == size.in && other.quantizes == size.quantizes;
      };
      if (std::none_of(sizes.begin(), sizes.end(), same)) sizes.push_back(size);
      parts = parts.subspan(count);
    }
    return {};
  }

  device::Backend& backend_;
  Footprint& footprint_;
};

void add_kv(const cache::CacheSpec& spec, std::vector<KvFootprint>& kv) {
  auto at =
      std::find_if(kv.begin(), kv.end(), [&](const KvFootprint& row) { return row.spec == spec; });
  if (at == kv.end()) at = kv.insert(kv.end(), KvFootprint{.spec = spec});
  ++at->layers;
  at->bytes_per_token += 2 * spec.kv_heads * device::row_bytes(spec.dtype, spec.head_dim);
}

int64_t widest(const std::vector<LinearSize>& sizes, int64_t rows, kernels::Compute compute) {
  int64_t most = 0;
  for (const LinearSize& size : sizes) most = std::max(most, size.workspace(rows, compute));
  return most;
}

}  // namespace

int64_t Footprint::kv_bytes_per_token() const noexcept {
  int64_t bytes = 0;
  for (const KvFootprint& row : kv) bytes += row.bytes_per_token;
  return bytes;
}

// The same sum that the decoder makes of its layers.
int64_t Footprint::workspace_bytes(int64_t rows, int64_t logit_rows) const {
  const auto matrix = [rows](int64_t cols) { return Arena::matrix_bytes(rows, cols); };
  const int64_t width = int64_t{config.heads} * config.head_dim;
  const int64_t kv_width = int64_t{config.kv_heads} * config.head_dim;
  const int64_t attend =
      matrix(width + 2 * kv_width) + std::max(widest(qkv, rows, compute), attention_scratch);
  const int64_t attention = std::max(attend, widest(attention_output, rows, compute));
  const int64_t ffn = matrix(2 * int64_t{config.ffn}) + matrix(config.ffn) +
                      std::max(widest(gate_up, rows, compute), widest(down, rows, compute));
  const int64_t scratch = std::max({widest(head, logit_rows, compute), attention, ffn});
  const int64_t branch = config.post_norms ? matrix(config.hidden) : 0;
  return 2 * matrix(config.hidden) + branch + matrix(width) + scratch;
}

Result<Footprint> measure_model(const ModelSource& source, device::Backend& backend,
                                const LoadOptions& options) {
  O3_TRY(check_options(options, backend.kind()));
  Footprint footprint;
  O3_ASSIGN(footprint.config, read_config(source));
  const ModelConfig& config = footprint.config;
  O3_ASSIGN(const DecoderTensors tensors, bind_decoder(*source.checkpoint, config));
  footprint.compute = options.compute;
  for (const std::string_view name : source.checkpoint->tensor_names()) {
    footprint.file_bytes += tensor_bytes(*source.checkpoint->find_tensor(name));
  }
  O3_TRY(Measurer(backend, footprint).run(tensors));
  for (int32_t layer = 0; layer < config.layers; ++layer) {
    add_kv(layer_cache_spec(config, layer, options.kv_dtype), footprint.kv);
  }
  kernels::PagedKv kv;
  kv.dtype = options.kv_dtype;
  kv.kv_heads = config.kv_heads;
  kv.head_dim = config.head_dim;
  footprint.attention_scratch = kernels::attention_workspace({}, kv, 1, backend);
  return footprint;
}

}  // namespace o3::model
