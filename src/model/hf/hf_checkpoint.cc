// SPDX-License-Identifier: Apache-2.0
#include "model/hf/hf_checkpoint.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <utility>

#include "base/printable.h"

namespace o3::model {
namespace {

constexpr std::string_view kEmbedding = "token_embd.weight";
constexpr std::string_view kHead = "output.weight";
constexpr std::string_view kRopeDivisors = "rope_freqs.weight";

// Where a multimodal checkpoint keeps its text model: as transformers 5, and as it was before.
constexpr std::array<std::string_view, 2> kTextPrefixes = {"model.language_model.",
                                                           "language_model.model."};
constexpr std::string_view kOldHead = "language_model.lm_head.weight";
constexpr std::array<std::string_view, 4> kOtherParts = {"model.vision_tower.", "vision_tower.",
                                                         "model.multi_modal_projector.",
                                                         "multi_modal_projector."};

// The name that the tensor has in a checkpoint of the text model alone; nothing: of another part.
std::optional<std::string> text_model_name(std::string_view name) {
  for (const std::string_view prefix : kTextPrefixes) {
    if (name.starts_with(prefix)) return "model." + std::string(name.substr(prefix.size()));
  }
  if (name == kOldHead) return "lm_head.weight";
  const auto begins = [name](std::string_view prefix) { return name.starts_with(prefix); };
  if (std::any_of(kOtherParts.begin(), kOtherParts.end(), begins)) return std::nullopt;
  return std::string(name);
}

// Frequencies that old versions of transformers saved; they follow from the configuration.
bool is_derived(std::string_view name) {
  return name.ends_with("rotary_emb.inv_freq");
}

bool same_values(const device::TensorView& a, const device::TensorView& b) {
  return a.dtype == b.dtype && a.rank == 2 && b.rank == 2 && a.shape == b.shape &&
         std::memcmp(a.data, b.data, static_cast<size_t>(a.rows() * a.row_stride)) == 0;
}

}  // namespace

Result<std::unique_ptr<HfCheckpoint>> HfCheckpoint::create(
    std::shared_ptr<const artifact::HfDirectory> directory, const HfConfig& config) {
  std::unique_ptr<HfCheckpoint> checkpoint(new HfCheckpoint(std::move(directory), config));
  for (const artifact::SafeTensor* tensor : checkpoint->directory_->tensors().tensors()) {
    O3_TRY(checkpoint->take(*tensor, config.multimodal));
  }
  for (const artifact::UnreadTensor* tensor : checkpoint->directory_->tensors().unread()) {
    O3_TRY(checkpoint->take(*tensor, config.multimodal));
  }
  O3_TRY(checkpoint->tie(config.tied));
  return checkpoint;
}

// Nothing: a tensor that is not the text model's.
Result<std::optional<std::string>> HfCheckpoint::gguf_name(const std::string& found,
                                                           bool multimodal) {
  if (is_derived(found)) return std::optional<std::string>{};
  std::optional<std::string> plain = found;
  if (multimodal) plain = text_model_name(found);
  if (!plain) {
    ++left_out_;
    return std::optional<std::string>{};
  }
  // It would be taken for the tensor that it is called by in GGUF, whose values are others.
  if (const auto meant = hf_tensor_name(*plain, norms_); meant || *plain == kRopeDivisors) {
    return invalid(name() + " holds " + printable(found) + ", which is a name of GGUF files; " +
                       (meant ? *meant : "rope_scaling in config.json") + " would work",
                   printable(found));
  }
  return std::optional(gguf_tensor_name(*plain, norms_).value_or(*plain));
}

Result<void> HfCheckpoint::take(const artifact::SafeTensor& tensor, bool multimodal) {
  O3_ASSIGN(auto name_of, gguf_name(tensor.name, multimodal));
  if (!name_of || tensors_.emplace(*name_of, aligned(tensor)).second) return {};
  return invalid(name() + " holds " + printable(source_name(*name_of)) + " twice, once as " +
                     printable(tensor.name),
                 printable(tensor.name));
}

Result<void> HfCheckpoint::take(const artifact::UnreadTensor& tensor, bool multimodal) {
  O3_ASSIGN(auto name_of, gguf_name(tensor.name, multimodal));
  if (!name_of) return {};
  artifact::UnreadTensor& taken = unread_.emplace_back(tensor);
  taken.name = *std::move(name_of);
  return {};
}

// transformers ties a head that is in the file too, unless its values are others.
Result<void> HfCheckpoint::tie(bool tied) {
  const auto head = tensors_.find(kHead);
  if (head == tensors_.end()) {
    if (tied) return {};
    return invalid(name() + " has no lm_head.weight, although tie_word_embeddings is false",
                   "lm_head.weight");
  }
  const auto embedding = tensors_.find(kEmbedding);
  if (tied && embedding != tensors_.end() && same_values(head->second, embedding->second)) {
    tensors_.erase(head);
  }
  return {};
}

// The format does not align tensors; kernels read elements where they lie.
device::TensorView HfCheckpoint::aligned(const artifact::SafeTensor& tensor) {
  device::TensorView view = tensor.view;
  const auto width = static_cast<uintptr_t>(device::row_bytes(view.dtype, 1));
  if (reinterpret_cast<uintptr_t>(view.data) % width == 0) return view;
  auto& copy = copies_.emplace_back(view.data, view.data + tensor.bytes);
  view.data = copy.data();
  return view;
}

const device::TensorView* HfCheckpoint::find_tensor(std::string_view name) const {
  const auto at = tensors_.find(name);
  return at == tensors_.end() ? nullptr : &at->second;
}

std::vector<std::string_view> HfCheckpoint::tensor_names() const {
  std::vector<std::string_view> names;
  names.reserve(tensors_.size());
  for (const auto& [name, view] : tensors_) names.emplace_back(name);
  return names;
}

std::string HfCheckpoint::source_name(std::string_view name) const {
  return hf_tensor_name(name, norms_).value_or(std::string(name));
}

}  // namespace o3::model
