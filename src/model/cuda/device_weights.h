// SPDX-License-Identifier: Apache-2.0
// A decoder's weights in the memory of a GPU.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"
#include "device/cuda/cuda_backend.h"
#include "kernels/cuda/attention.h"
#include "model/decoder_tensors.h"
#include "model/model.h"
#include "model/model_config.h"

namespace o3::model::cuda {

struct DeviceVector {
  device::Buffer data;
  // Null when the model has no such vector.
  const float* values() const noexcept { return reinterpret_cast<const float*>(data.data()); }
  int64_t bytes() const noexcept { return static_cast<int64_t>(data.bytes()); }
};

// Matrices of equal width, one below the other: [n, k], dense.
struct DeviceMatrix {
  device::Buffer data;
  DeviceVector scales;  // [n], of E4M3
  device::DType dtype = device::DType::kBF16;
  int32_t n = 0;
  int32_t k = 0;

  bool is_e4m3() const noexcept { return dtype == device::DType::kF8_E4M3; }
  int64_t bytes() const noexcept { return static_cast<int64_t>(data.bytes()) + scales.bytes(); }
};

struct DeviceRopeTable {
  DeviceVector cos;
  DeviceVector sin;
  kernels::cuda::DeviceRope view;
};

struct DeviceLayer {
  DeviceVector attention_norm;
  DeviceMatrix qkv;
  DeviceVector bias;  // of Q, K and V
  DeviceVector q_norm;
  DeviceVector k_norm;
  DeviceMatrix output;
  DeviceVector post_attention_norm;
  DeviceVector ffn_norm;
  DeviceMatrix gate_up;
  DeviceMatrix down;
  DeviceVector post_ffn_norm;
  kernels::AttnDesc attention;
  const DeviceRopeTable* rope = nullptr;

  int64_t bytes() const noexcept;
};

struct DeviceWeights {
  DeviceRopeTable rope;
  DeviceRopeTable local_rope;  // of windowed layers
  DeviceMatrix embedding;
  std::vector<DeviceLayer> layers;
  DeviceVector output_norm;
  DeviceMatrix own_head;  // empty when the embedding is the head
  bool tied = false;

  const DeviceMatrix& head() const noexcept { return tied ? embedding : own_head; }
  int64_t step_bytes() const noexcept;  // read by a decode step
};

// Copies everything to the device; the checkpoint's memory may go afterwards. `weights` must stay
// where it is: layers point at its tables.
Result<void> upload(const DecoderTensors& tensors, const ModelConfig& config, WeightStorage storage,
                    device::cuda::CudaBackend& backend, DeviceWeights& weights);

}  // namespace o3::model::cuda
