// SPDX-License-Identifier: Apache-2.0
// Reader of safetensors files (the format's README and its Rust reader): u64 header length, JSON
// header, tensor data. All is validated once, at open; afterwards everything is a view into the
// file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "artifact/mapped_file.h"
#include "artifact/unread_tensor.h"
#include "base/result.h"
#include "device/tensor_view.h"

namespace o3::artifact {

struct SafeTensor {
  std::string name;
  device::TensorView view;  // read-only memory, aligned only as far as the file is
  int64_t bytes = 0;
};

// Immutable and safe to share; the views live as long as the file object (moving it is fine).
class SafetensorsFile {
 public:
  static constexpr uint64_t kMaxHeaderBytes = uint64_t{100} << 20U;  // as the Rust reader
  static constexpr size_t kMaxTensors = size_t{1} << 20U;
  static constexpr size_t kMaxNameBytes = 1024;

  // kInvalid: damaged or hostile, says where. param is the tensor.
  static Result<SafetensorsFile> open(const std::filesystem::path& path);

  // The same over memory that must outlive the result; `name` is for messages.
  static Result<SafetensorsFile> parse(std::span<const std::byte> bytes, std::string name);

  const std::string& name() const noexcept { return name_; }
  uint64_t file_bytes() const noexcept { return bytes_.size(); }
  std::span<const SafeTensor> tensors() const noexcept { return tensors_; }  // by name
  const SafeTensor* find(std::string_view name) const noexcept;
  // Of types other than F32, F16 and BF16, empty, or of more than 4 dimensions. Not in tensors().
  std::span<const UnreadTensor> unread() const noexcept { return unread_; }  // by name

  // For who has copied what it needs of the tensors: see MappedFile. Nothing becomes invalid.
  void release_pages() const noexcept {
    if (map_) map_->release_pages();
  }

 private:
  friend class SafetensorsParser;
  SafetensorsFile() = default;

  std::optional<MappedFile> map_;  // empty when parse() was given memory
  std::span<const std::byte> bytes_;
  std::string name_;
  std::vector<SafeTensor> tensors_;   // sorted by name
  std::vector<UnreadTensor> unread_;  // sorted by name
};

}  // namespace o3::artifact
