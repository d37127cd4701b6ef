// SPDX-License-Identifier: Apache-2.0
// config.json of the families that this build knows, in the terms of GGUF.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "artifact/hf/hf_directory.h"
#include "base/result.h"
#include "model/hf/hf_fields.h"
#include "model/hf/tensor_names.h"
#include "model/hyper_parameters.h"

namespace o3::model {

// A kind of config.json. The numbers are the defaults of transformers' configuration class, for
// what a file leaves out; 0: it must say it.
struct HfFamily {
  std::string_view model_type;
  std::string_view architecture;  // GGUF's name
  std::string_view activation;    // the only one that this build has for it
  int64_t heads = 0;
  int64_t kv_heads = 0;  // 0: as many as heads
  int64_t head_dim = 0;  // 0: hidden / heads
  int64_t context = 0;
  int64_t window = 0;
  double rope_base = 10000.0;
  bool tied = false;
  NormNames norms = NormNames::kPlain;
};

struct HfConfig {
  const HfFamily* family = nullptr;
  HyperParameters parameters;
  bool tied = false;        // the output matrix is the embedding
  bool multimodal = false;  // only the text model of the checkpoint is used
};

// kUnsupported: a model_type (the known ones are listed), quantisation or setting that this build
// does not have; kInvalid: a member of the wrong type. `source` is for messages.
Result<HfConfig> read_hf_config(const nlohmann::json& config, const std::string& source);

// "eos_token_id" and its like (a number or a list) of generation_config.json, else of config.json;
// not yet compared with the vocabulary.
Result<std::vector<int64_t>> hf_token_ids(const artifact::HfDirectory& directory, const char* name);
// kInvalid: a token that ends or begins a text, or fills it, is none of `vocabulary`. Padding of -1
// means none.
Result<void> check_hf_tokens(const artifact::HfDirectory& directory, int64_t vocabulary);

// The RoPE of the layers that see everything and, for Gemma, of the others, as transformers 5
// gathers it from rope_scaling or rope_parameters, rope_theta and rope_local_base_freq. May
// lengthen context_length, where a scaling stretches what max_position_embeddings says.
Result<void> read_hf_rope(const HfFields& config, const HfFamily& family,
                          HyperParameters& parameters);

}  // namespace o3::model
