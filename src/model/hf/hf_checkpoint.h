// SPDX-License-Identifier: Apache-2.0
// The tensors of a Hugging Face directory under the names that GGUF gives them.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "artifact/hf/hf_directory.h"
#include "base/result.h"
#include "model/checkpoint.h"
#include "model/hf/hf_config.h"

namespace o3::model {

// Keeps the directory mapped. Tensors without a name in GGUF keep their own, and are refused where
// the model is bound.
class HfCheckpoint final : public Checkpoint {
 public:
  // kInvalid: the output matrix is missing although it is not tied to the embedding; a tensor is
  // there under two names, or under a name of GGUF.
  static Result<std::unique_ptr<HfCheckpoint>> create(
      std::shared_ptr<const artifact::HfDirectory> directory, const HfConfig& config);

  const std::string& name() const noexcept override { return directory_->name(); }
  const device::TensorView* find_tensor(std::string_view name) const override;
  std::vector<std::string_view> tensor_names() const override;
  std::span<const artifact::UnreadTensor> unread() const noexcept override { return unread_; }
  std::string source_name(std::string_view name) const override;
  Convention convention() const noexcept override { return Convention::kHuggingFace; }
  void release_pages() const noexcept override { directory_->tensors().release_pages(); }

  // Tensors of parts that are not a text model (the vision tower of a multimodal checkpoint).
  size_t left_out() const noexcept { return left_out_; }

 private:
  HfCheckpoint(std::shared_ptr<const artifact::HfDirectory> directory, const HfConfig& config)
      : directory_(std::move(directory)), norms_(config.family->norms) {}
  Result<std::optional<std::string>> gguf_name(const std::string& name, bool multimodal);
  Result<void> take(const artifact::SafeTensor& tensor, bool multimodal);
  Result<void> take(const artifact::UnreadTensor& tensor, bool multimodal);
  Result<void> tie(bool tied);
  device::TensorView aligned(const artifact::SafeTensor& tensor);

  std::shared_ptr<const artifact::HfDirectory> directory_;
  NormNames norms_;
  size_t left_out_ = 0;
  std::map<std::string, device::TensorView, std::less<>> tensors_;
  std::vector<artifact::UnreadTensor> unread_;
  std::vector<std::vector<std::byte>> copies_;  // of tensors at odd addresses
};

}  // namespace o3::model
