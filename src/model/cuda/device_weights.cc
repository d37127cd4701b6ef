// SPDX-License-Identifier: Apache-2.0
#include "model/cuda/device_weights.h"

#include <array>
#include <string>
#include <utility>

#include "kernels/cuda/rows.h"
#include "kernels/elementwise.h"
#include "model/weights.h"

namespace o3::model::cuda {
namespace {

using device::DType;
using device::TensorView;

// Copies of 16 bytes walk along rows.
constexpr int64_t kColumns = 8;
constexpr int64_t kE4m3Multiple = 16;  // of both sides of a matrix: the library's products

class Uploader {
 public:
  Uploader(const ModelConfig& config, WeightStorage storage, device::cuda::CudaBackend& backend)
      : config_(config), storage_(storage), backend_(backend) {}

  Result<DeviceMatrix> matrix(std::span<const TensorView> parts) {
    DeviceMatrix made;
    made.dtype = parts[0].dtype;
    made.k = static_cast<int32_t>(parts[0].cols());
    int64_t rows = 0;
    for (const TensorView& part : parts) {
      if (part.dtype != DType::kF16 && part.dtype != DType::kBF16) {
        return unsupported("no CUDA kernel multiplies " +
                           std::string(device::traits(part.dtype).name) +
                           " weights yet; F16 and BF16 would work");
      }
      if (part.dtype != made.dtype) {
        return unsupported("weights that are multiplied together differ in type");
      }
      rows += part.rows();
    }
    if (made.k % kColumns != 0) {
      return unsupported("rows of " + std::to_string(made.k) +
                         " weights; CUDA kernels take multiples of 8");
    }
    made.n = static_cast<int32_t>(rows);
    O3_ASSIGN(made.data, allocate(rows * made.k * 2));
    size_t offset = 0;
    for (const TensorView& part : parts) {
      const auto bytes = static_cast<size_t>(part.rows() * made.k * 2);
      O3_TRY(backend_.enqueue_copy(made.data.data() + offset, part.data, bytes));
      offset += bytes;
    }
    return made;
  }

  // A matrix of a layer: made smaller where that is asked for.
  Result<DeviceMatrix> layer_matrix(std::span<const TensorView> parts) {
    O3_ASSIGN(DeviceMatrix from, matrix(parts));
    if (storage_ == WeightStorage::kAsInFile) return from;
    if (from.k % kE4m3Multiple != 0 || from.n % kE4m3Multiple != 0) {
      return unsupported("FP8 products take multiples of 16, not a matrix of " +
                         std::to_string(from.n) + " x " + std::to_string(from.k));
    }
    DeviceMatrix made;
    made.dtype = DType::kF8_E4M3;
    made.n = from.n;
    made.k = from.k;
    O3_ASSIGN(made.data, allocate(int64_t{made.n} * made.k));
    O3_ASSIGN(made.scales.data, allocate(int64_t{made.n} * int64_t{sizeof(float)}));
    kernels::cuda::quantize_rows({.dtype = from.dtype,
                                  .in = from.data.data(),
                                  .out = made.data.data(),
                                  .scales = reinterpret_cast<float*>(made.scales.data.data()),
                                  .rows = made.n,
                                  .width = made.k},
                                 backend_.stream());
    O3_TRY(backend_.check_launches());
    O3_TRY(backend_.synchronize());  // `from` goes
    return made;
  }

  // The embedding may be F32 too.
  Result<DeviceMatrix> table(const TensorView& from) {
    if (from.dtype != DType::kF32) return matrix({&from, 1});
    DeviceMatrix made;
    made.dtype = from.dtype;
    made.n = static_cast<int32_t>(from.rows());
    made.k = static_cast<int32_t>(from.cols());
    O3_ASSIGN(made.data, allocate(from.rows() * from.cols() * 4));
    O3_TRY(backend_.enqueue_copy(made.data.data(), from.data, made.data.bytes()));
    return made;
  }

  // Nothing for an empty view.
  Result<DeviceVector> vector(const TensorView& from, double offset = 0.0) {
    DeviceVector made;
    if (from.data == nullptr) return made;
    O3_ASSIGN(made.data, load_vector(from, offset, backend_));
    return made;
  }
  Result<DeviceVector> norm(const TensorView& from) { return vector(from, config_.norm_offset); }

  Result<DeviceVector> floats(const std::vector<float>& values) {
    DeviceVector made;
    const size_t bytes = values.size() * sizeof(float);
    O3_ASSIGN(made.data, backend_.allocate(bytes, device::MemTag::kWeights));
    O3_TRY(backend_.copy_from_host(made.data, 0, values.data(), bytes));
    return made;
  }

  Result<DeviceVector> bias(const std::array<TensorView, 3>& parts) {
    DeviceVector made;
    if (parts[0].data == nullptr) return made;
    std::vector<float> values;
    for (const TensorView& part : parts) {
      std::vector<float> own(static_cast<size_t>(part.cols()));
      kernels::dequantize_row(part.dtype, part.data, own.data(), part.cols());
      values.insert(values.end(), own.begin(), own.end());
    }
    return floats(values);
  }

  Result<DeviceRopeTable> rope(const kernels::RopeParams& params) {
    const kernels::RopeTable table = kernels::make_rope_table(params);
    // Every position's angles: a gather is all that a step does.
    const auto pairs = static_cast<size_t>(params.dim) / 2;
    const auto positions = static_cast<size_t>(params.max_positions);
    std::vector<float> cos(positions * pairs);
    std::vector<float> sin(positions * pairs);
    for (size_t position = 0; position < positions; ++position) {
      kernels::rope_angles(table, static_cast<int32_t>(position),
                           std::span(cos).subspan(position * pairs, pairs),
                           std::span(sin).subspan(position * pairs, pairs));
    }
    DeviceRopeTable made;
    O3_ASSIGN(made.cos, floats(cos));
    O3_ASSIGN(made.sin, floats(sin));
    made.view = {made.cos.values(), made.sin.values(), params.dim, params.style};
    return made;
  }

  Result<DeviceLayer> layer(const LayerTensors& from, int32_t index) {
    const AttentionWeights& attention = from.attention;
    const std::array<TensorView, 3> qkv{attention.q, attention.k, attention.v};
    const std::array<TensorView, 2> gate_up{from.ffn.gate, from.ffn.up};
    DeviceLayer made;
    O3_ASSIGN(made.attention_norm, norm(from.attention_norm));
    O3_ASSIGN(made.qkv, layer_matrix(qkv));
    O3_ASSIGN(made.bias, bias(attention.bias));
    O3_ASSIGN(made.q_norm, norm(attention.q_norm));
    O3_ASSIGN(made.k_norm, norm(attention.k_norm));
    O3_ASSIGN(made.output, layer_matrix({&attention.output, 1}));
    O3_ASSIGN(made.post_attention_norm, norm(from.post_attention_norm));
    O3_ASSIGN(made.ffn_norm, norm(from.ffn_norm));
    O3_ASSIGN(made.gate_up, layer_matrix(gate_up));
    O3_ASSIGN(made.down, layer_matrix({&from.ffn.down, 1}));
    O3_ASSIGN(made.post_ffn_norm, norm(from.post_ffn_norm));
    made.attention = {.heads = config_.heads,
                      .scale = static_cast<float>(config_.attention_scale),
                      .window = config_.is_windowed(index) ? config_.window : 0,
                      .softcap = static_cast<float>(config_.attention_softcap)};
    return made;
  }

 private:
  Result<device::Buffer> allocate(int64_t bytes) {
    return backend_.allocate(static_cast<size_t>(bytes), device::MemTag::kWeights);
  }

  const ModelConfig& config_;
  WeightStorage storage_;
  device::cuda::CudaBackend& backend_;
};

// Kernels know types and shapes, not names.
template <class T>
Result<T> named(Result<T> made, std::string name) {
  if (made.ok()) return made;
  Error error = std::move(made).error();
  error.message = name + ": " + error.message;
  error.param = std::move(name);
  return error;
}

}  // namespace

int64_t DeviceLayer::bytes() const noexcept {
  return attention_norm.bytes() + qkv.bytes() + bias.bytes() + q_norm.bytes() + k_norm.bytes() +
         output.bytes() + post_attention_norm.bytes() + ffn_norm.bytes() + gate_up.bytes() +
         down.bytes() + post_ffn_norm.bytes();
}

int64_t DeviceWeights::step_bytes() const noexcept {
  int64_t bytes = output_norm.bytes() + head().bytes();
  if (!tied) bytes += embedding.bytes() / embedding.n;
  for (const DeviceLayer& layer : layers) bytes += layer.bytes();
  return bytes;
}

Result<void> upload(const DecoderTensors& tensors, const ModelConfig& config, WeightStorage storage,
                    device::cuda::CudaBackend& backend, DeviceWeights& weights) {
  Uploader uploader(config, storage, backend);
  O3_ASSIGN(weights.rope, uploader.rope(config.rope));
  if (config.window > 0) {
    O3_ASSIGN(weights.local_rope, uploader.rope(config.local_rope));
  }
  O3_ASSIGN(weights.embedding, named(uploader.table(tensors.embedding), "token_embd.weight"));
  for (int32_t index = 0; index < config.layers; ++index) {
    O3_ASSIGN(DeviceLayer layer,
              named(uploader.layer(tensors.layers[static_cast<size_t>(index)], index),
                    "blk." + std::to_string(index)));
    layer.rope = config.is_windowed(index) ? &weights.local_rope : &weights.rope;
    weights.layers.push_back(std::move(layer));
  }
  O3_ASSIGN(weights.output_norm, uploader.norm(tensors.output_norm));
  weights.tied = tensors.head.data == tensors.embedding.data;
  if (!weights.tied) {
    O3_ASSIGN(weights.own_head, named(uploader.matrix({&tensors.head, 1}), "output.weight"));
  } else if (weights.embedding.dtype == DType::kF32) {
    return unsupported("token_embd.weight is the head too, and F32; F16 and BF16 would work",
                       "token_embd.weight");
  }
  return backend.synchronize();
}

}  // namespace o3::model::cuda
