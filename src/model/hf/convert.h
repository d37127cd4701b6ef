// SPDX-License-Identifier: Apache-2.0
// The same model in the other kind of file: settings and tensors. Tokenizers are another room's.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <vector>

#include "artifact/gguf/gguf_writer.h"
#include "artifact/row_tensor.h"
#include "base/result.h"
#include "model/load_model.h"

namespace o3::model {

// config.json, as transformers 4 and 5 both read it, without the ids of special tokens.
// kUnsupported: a setting that it cannot say.
Result<nlohmann::ordered_json> hf_config_json(const ModelSource& source, const ModelConfig& config);

// "llama.block_count" and so on, with general.architecture.
void add_gguf_settings(const ModelSource& source, const ModelConfig& config,
                       artifact::GgufWriter& writer);

struct ConvertedTensors {
  std::vector<artifact::RowTensor> tensors;  // views into the source, which must outlive them
  int64_t widened = 0;                       // quantised tensors that became BF16
};
// Under Hugging Face's names and by its conventions; F32, F16 and BF16 stay what they are, other
// types become BF16 (rounded to nearest even).
Result<ConvertedTensors> hf_tensors(const ModelSource& source, const ModelConfig& config);
// Under GGUF's names and by its conventions; vectors become F32, as GGUF files have them.
Result<ConvertedTensors> gguf_tensors(const ModelSource& source, const ModelConfig& config);

}  // namespace o3::model
