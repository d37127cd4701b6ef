// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/rope.h"

namespace o3::model {

enum class Activation : uint8_t {
  kSilu,
  kGelu,  // tanh form
};

// Hyper-parameters shared by the families, all bounded; read from GGUF metadata or config.json.
struct ModelConfig {
  std::string architecture;  // "llama"
  std::string name;          // general.name, for people
  int32_t layers = 0;
  int32_t hidden = 0;
  int32_t heads = 0;
  int32_t kv_heads = 0;
  int32_t head_dim = 0;
  int32_t ffn = 0;
  int32_t vocabulary = 0;
  int32_t context = 0;  // maximum positions
  double rms_eps = 1e-5;
  kernels::RopeParams rope;

  // Layers that see only the last `window` positions; their RoPE may differ.
  int32_t window = 0;          // 0: no layer is windowed
  std::vector<bool> windowed;  // [layers], when window > 0
  kernels::RopeParams local_rope;

  double attention_scale = 0.0;    // of the scores
  double attention_softcap = 0.0;  // 0: none
  double logit_softcap = 0.0;      // 0: none
  double embedding_scale = 1.0;
  double norm_offset = 0.0;  // added to the norms' weights as they are in the checkpoint
  Activation activation = Activation::kSilu;
  bool qkv_bias = false;    // of the Q, K and V projections
  bool qk_norm = false;     // RMS norm of each query and key head before RoPE
  bool post_norms = false;  // norms behind attention and FFN too ("sandwich")

  bool is_windowed(int32_t layer) const {
    return window > 0 && windowed.at(static_cast<size_t>(layer));
  }
};

}  // namespace o3::model
