// SPDX-License-Identifier: Apache-2.0
// RoPE and its scalings from metadata.
#include <cmath>
#include <string>

#include "base/printable.h"
#include "kernels/elementwise.h"
#include "model/decoder_config.h"

namespace o3::model {
namespace {

using kernels::RopeScaling;
using kernels::RopeScalingKind;

constexpr int32_t kMaxPositions = 1 << 24;
constexpr double kMinFactor = 1.0 / 1024;
constexpr double kMaxFactor = 4096.0;

struct KindName {
  std::string_view name;
  RopeScalingKind kind;
};
constexpr KindName kKinds[] = {
    {"none", RopeScalingKind::kNone},       {"linear", RopeScalingKind::kLinear},
    {"dynamic", RopeScalingKind::kDynamic}, {"llama3", RopeScalingKind::kLlama3},
    {"yarn", RopeScalingKind::kYarn},
};

// A factor alone means linear scaling.
Result<RopeScalingKind> read_kind(const ConfigReader& reader, double factor) {
  const std::string otherwise = factor == 1.0 ? "none" : "linear";
  O3_ASSIGN(const std::string name, reader.text_or("rope.scaling.type", otherwise));
  std::string known;
  for (const KindName& row : kKinds) {
    if (row.name == name) return row.kind;
    known += (known.empty() ? "" : ", ") + std::string(row.name);
  }
  const std::string key = reader.key("rope.scaling.type");
  return unsupported(key + " is \"" + printable(name) + "\"; this build knows: " + known, key);
}

Result<void> read_yarn(const ConfigReader& reader, RopeScaling& scaling) {
  O3_ASSIGN(scaling.beta_fast, reader.real_or("rope.scaling.yarn_beta_fast", 32.0, 1e-3, 1e6));
  O3_ASSIGN(scaling.beta_slow, reader.real_or("rope.scaling.yarn_beta_slow", 1.0, 1e-3, 1e6));
  O3_ASSIGN(scaling.truncate, reader.flag_or("rope.scaling.yarn_truncate", true));
  O3_TRY(reader.require_number("rope.scaling.yarn_ext_factor", 1));
  O3_TRY(reader.require_number("rope.scaling.yarn_log_multiplier", 0));
  O3_ASSIGN(const double times, reader.real_or("rope.scaling.attn_factor", 1.0, 1e-3, 1e3));
  scaling.magnitude = times * kernels::yarn_magnitude(scaling.factor);
  return {};
}

Result<RopeScaling> read_scaling(const ConfigReader& reader, const ModelConfig& config) {
  RopeScaling scaling;
  O3_ASSIGN(const double legacy, reader.real_or("rope.scale_linear", 1.0, 1.0, kMaxFactor));
  O3_ASSIGN(scaling.factor, reader.real_or("rope.scaling.factor", legacy, kMinFactor, kMaxFactor));
  O3_ASSIGN(scaling.kind, read_kind(reader, scaling.factor));
  if (scaling.kind == RopeScalingKind::kNone || scaling.kind == RopeScalingKind::kLinear) {
    return scaling;
  }
  if (scaling.factor < 1.0) {
    return invalid(reader.key("rope.scaling.factor") + " must be at least 1",
                   reader.key("rope.scaling.factor"));
  }
  O3_ASSIGN(scaling.original_positions, reader.integer_or("rope.scaling.original_context_length",
                                                          config.context, 1, kMaxPositions));
  if (scaling.kind == RopeScalingKind::kLlama3) {
    O3_ASSIGN(scaling.low_frequency, reader.real("rope.scaling.low_freq_factor", 1e-3, 1e6));
    O3_ASSIGN(scaling.high_frequency,
              reader.real("rope.scaling.high_freq_factor", scaling.low_frequency + 1e-3, 1e7));
  }
  if (scaling.kind == RopeScalingKind::kYarn) O3_TRY(read_yarn(reader, scaling));
  return scaling;
}

// rope_freqs.weight: what converters make of Llama 3.1's scaling.
Result<std::vector<float>> read_divisors(const Checkpoint& checkpoint, int32_t pairs) {
  const device::TensorView* tensor = checkpoint.find_tensor("rope_freqs.weight");
  if (tensor == nullptr) return std::vector<float>{};
  std::vector<float> divisors(static_cast<size_t>(pairs));
  const bool fits =
      tensor->rank == 1 && tensor->shape[0] == pairs && tensor->dtype == device::DType::kF32;
  if (!fits) {
    return invalid("rope_freqs.weight must be F32 and hold " + std::to_string(pairs) +
                       " elements, one for each rotated pair",
                   "rope_freqs.weight");
  }
  kernels::dequantize_row(tensor->dtype, tensor->data, divisors.data(), pairs);
  for (const float divisor : divisors) {
    if (!(divisor > 1e-3F && divisor < 1e6F)) {
      return invalid("rope_freqs.weight must hold factors from 0.001 to 1000000",
                     "rope_freqs.weight");
    }
  }
  return divisors;
}

}  // namespace

Result<void> read_rope(const ConfigReader& reader, const Checkpoint& checkpoint,
                       ModelConfig& config) {
  O3_ASSIGN(config.rope.dim,
            reader.integer_or("rope.dimension_count", config.head_dim, 2, config.head_dim));
  const std::string key = reader.key("rope.dimension_count");
  if (config.rope.dim % 2 != 0) return invalid(key + " must be even", key);
  O3_ASSIGN(config.rope.base, reader.real_or("rope.freq_base", 10000.0, 1.0, 1e12));
  config.rope.style = kernels::RopeStyle::kHalf;
  config.rope.max_positions = config.context;
  O3_ASSIGN(config.rope.scaling, read_scaling(reader, config));
  if (config.rope.scaling.kind == RopeScalingKind::kYarn && config.rope.base <= 1.0) {
    return invalid(reader.key("rope.freq_base") + " must be above 1 for YaRN",
                   reader.key("rope.freq_base"));
  }
  O3_ASSIGN(config.rope.divisors, read_divisors(checkpoint, config.rope.dim / 2));
  return {};
}

}  // namespace o3::model
