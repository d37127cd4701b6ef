// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <cmath>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "base/check.h"
#include "kernels/elementwise.h"
#include "model/decoder_tensors.h"
#include "model/hf/convert.h"
#include "model/hf/tensor_names.h"
#include "model/weights.h"

namespace o3::model {
namespace {

using artifact::RowTensor;
using device::DType;
using device::TensorView;

bool is_plain(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBF16;
}

uint16_t to_bfloat(float value) {
  auto bits = std::bit_cast<uint32_t>(value);
  if (std::isnan(value)) return static_cast<uint16_t>(bits >> 16U | 0x40U);
  bits += 0x7FFFU + (bits >> 16U & 1U);
  return static_cast<uint16_t>(bits >> 16U);
}

void store(std::span<const float> values, DType dtype, std::span<std::byte> out) {
  if (dtype == DType::kF32) {
    std::memcpy(out.data(), values.data(), values.size_bytes());
    return;
  }
  O3_CHECK(dtype == DType::kBF16, "conversion computes F32 and BF16 only");
  for (size_t i = 0; i < values.size(); ++i) {
    const uint16_t bits = to_bfloat(values[i]);
    std::memcpy(out.data() + 2 * i, &bits, sizeof bits);
  }
}

// Where the row of a head comes from. In GGUF llama files the rotated pairs are neighbours
// (2i, 2i + 1), in checkpoints as trained they are halves apart (i, i + dim/2).
struct RowOrder {
  int64_t head_dim = 0;  // 0: rows stay in order
  int64_t rotated = 0;   // of a head's rows, those that take part
  bool to_halves = false;

  int64_t source(int64_t row) const {
    const int64_t in_head = head_dim == 0 ? 0 : row % head_dim;
    if (head_dim == 0 || in_head >= rotated) return row;
    const int64_t half = rotated / 2;
    const int64_t from =
        to_halves ? 2 * (in_head % half) + in_head / half : in_head % 2 * half + in_head / 2;
    return row - in_head + from;
  }
};

RowTensor convert(std::string name, const TensorView& view, DType dtype, RowOrder order,
                  double offset) {
  RowTensor tensor{std::move(name), dtype, {}, {}};
  tensor.shape.assign(view.shape.begin(), view.shape.begin() + view.rank);
  const auto source = [view, order](int64_t row) {
    return view.data + order.source(row) * view.row_stride;
  };
  if (dtype == view.dtype && offset == 0.0) {
    tensor.row = [source](int64_t row, std::span<std::byte> out) {
      std::memcpy(out.data(), source(row), out.size());
    };
    return tensor;
  }
  const auto values = std::make_shared<std::vector<float>>(static_cast<size_t>(view.cols()));
  tensor.row = [source, view, dtype, offset, values](int64_t row, std::span<std::byte> out) {
    kernels::dequantize_row(view.dtype, source(row), values->data(), view.cols());
    for (float& value : *values) value += static_cast<float>(offset);
    store(*values, dtype, out);
  };
  return tensor;
}

class Converter {
 public:
  Converter(const ModelSource& source, const ModelConfig& config)
      : checkpoint_(*source.checkpoint), config_(config) {}

  Result<ConvertedTensors> run(Convention to) {
    // Nothing is left out, and shapes are right.
    O3_ASSIGN(const DecoderTensors bound, bind_decoder(checkpoint_, config_));
    static_cast<void>(bound);
    ConvertedTensors converted;
    for (const std::string_view name : checkpoint_.tensor_names()) {
      if (name == "rope_freqs.weight") continue;  // a setting elsewhere
      if (is_weightless(*checkpoint_.find_tensor(name))) continue;
      O3_ASSIGN(RowTensor tensor, one(name, to, converted.widened));
      converted.tensors.push_back(std::move(tensor));
    }
    return converted;
  }

 private:
  Result<RowTensor> one(std::string_view name, Convention to, int64_t& widened) const {
    const TensorView& view = *checkpoint_.find_tensor(name);
    if (!kernels::can_dequantize(view.dtype)) {
      return unsupported("no conversion from " + std::string(device::traits(view.dtype).name),
                         checkpoint_.source_name(name));
    }
    const bool hf = to == Convention::kHuggingFace;
    DType dtype = view.dtype;
    if (view.rank == 1) {
      if (!hf) dtype = DType::kF32;
    } else if (hf && !is_plain(dtype)) {
      dtype = DType::kBF16;
      ++widened;
    }
    const double offset = offset_of(name, to);
    if (offset != 0.0) dtype = DType::kF32;
    std::string written(name);
    if (hf) {
      const NormNames norms = config_.post_norms ? NormNames::kSandwich : NormNames::kPlain;
      written = hf_tensor_name(name, norms).value_or(written);
    }
    return convert(std::move(written), view, dtype, order_of(name, to), offset);
  }

  double offset_of(std::string_view name, Convention to) const {
    const bool gemma = config_.architecture == "gemma3";
    if (!gemma || to == checkpoint_.convention() || !name.ends_with("norm.weight")) return 0.0;
    return to == Convention::kGguf ? 1.0 : -1.0;
  }

  RowOrder order_of(std::string_view name, Convention to) const {
    const bool rotated = name.ends_with("attn_q.weight") || name.ends_with("attn_k.weight");
    if (config_.architecture != "llama" || to == checkpoint_.convention() || !rotated) return {};
    return {config_.head_dim, config_.rope.dim, to == Convention::kHuggingFace};
  }

  const Checkpoint& checkpoint_;
  const ModelConfig& config_;
};

}  // namespace

Result<ConvertedTensors> hf_tensors(const ModelSource& source, const ModelConfig& config) {
  return Converter(source, config).run(Convention::kHuggingFace);
}

Result<ConvertedTensors> gguf_tensors(const ModelSource& source, const ModelConfig& config) {
  O3_ASSIGN(ConvertedTensors converted, Converter(source, config).run(Convention::kGguf));
  const kernels::RopeScaling& scaling = config.rope.scaling;
  if (scaling.kind != kernels::RopeScalingKind::kLlama3) return converted;
  // GGUF says this scaling by what it does to each frequency.
  kernels::RopeParams plain = config.rope;
  plain.scaling = {};
  const std::vector<double> slow = kernels::rope_frequencies(config.rope, 0);
  const std::vector<double> fast = kernels::rope_frequencies(plain, 0);
  auto divisors = std::make_shared<std::vector<float>>();
  for (size_t i = 0; i < slow.size(); ++i) {
    divisors->push_back(static_cast<float>(fast[i] / slow[i]));
  }
  converted.tensors.push_back({"rope_freqs.weight",
                               DType::kF32,
                               {static_cast<int64_t>(divisors->size())},
                               [divisors](int64_t, std::span<std::byte> out) {
                                 std::memcpy(out.data(), divisors->data(), out.size());
                               }});
  return converted;
}

}  // namespace o3::model
