// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "artifact/gguf/gguf_file.h"
#include "artifact/unread_tensor.h"
#include "device/tensor_view.h"

namespace o3::model {

// How the values in a checkpoint are laid down.
enum class Convention : uint8_t {
  kGguf,         // llama's Q and K permuted, 1 added to Gemma's norms
  kHuggingFace,  // as trained
};

// The tensors that a model is made from, whatever files they lie in, under the names that GGUF
// gives them ("blk.0.attn_q.weight"). Immutable; the views live as long as the checkpoint.
class Checkpoint {
 public:
  virtual ~Checkpoint() = default;
  virtual const std::string& name() const noexcept = 0;                            // for messages
  virtual const device::TensorView* find_tensor(std::string_view name) const = 0;  // or nullptr
  virtual std::vector<std::string_view> tensor_names() const = 0;
  // Tensors that no kernel reads, under GGUF's names too; not among the others.
  virtual std::span<const artifact::UnreadTensor> unread() const noexcept = 0;
  const artifact::UnreadTensor* find_unread(std::string_view name) const {
    const auto all = unread();
    const auto at = std::find_if(all.begin(), all.end(),
                                 [name](const auto& tensor) { return tensor.name == name; });
    return at == all.end() ? nullptr : &*at;
  }
  // What the files call a tensor, whether or not they have it; for messages.
  virtual std::string source_name(std::string_view name) const = 0;
  virtual Convention convention() const noexcept = 0;
  // Gives pages that packing has copied back to the system; nothing becomes invalid.
  virtual void release_pages() const noexcept = 0;
};

class GgufCheckpoint final : public Checkpoint {
 public:
  explicit GgufCheckpoint(std::shared_ptr<const artifact::GgufFile> file)
      : file_(std::move(file)) {}

  const std::string& name() const noexcept override { return file_->name(); }
  const device::TensorView* find_tensor(std::string_view name) const override {
    const artifact::GgufTensor* tensor = file_->find_tensor(name);
    return tensor == nullptr ? nullptr : &tensor->view;
  }
  std::vector<std::string_view> tensor_names() const override {
    std::vector<std::string_view> names;
    for (const artifact::GgufTensor& tensor : file_->tensors()) names.push_back(tensor.name);
    return names;
  }
  std::span<const artifact::UnreadTensor> unread() const noexcept override {
    return file_->unread();
  }
  std::string source_name(std::string_view name) const override { return std::string(name); }
  Convention convention() const noexcept override { return Convention::kGguf; }
  void release_pages() const noexcept override { file_->release_pages(); }

 private:
  std::shared_ptr<const artifact::GgufFile> file_;
};

}  // namespace o3::model
