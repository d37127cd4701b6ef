// SPDX-License-Identifier: Apache-2.0
// Reader of GGUF versions 2 and 3, little-endian (ggml's docs/gguf.md). The whole structure is
// validated once, at open; afterwards everything is a view into the file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "artifact/gguf/gguf_value.h"
#include "artifact/mapped_file.h"
#include "artifact/unread_tensor.h"
#include "base/result.h"
#include "device/tensor_view.h"

namespace o3::artifact {

struct GgufEntry {
  std::string_view key;
  GgufValue value;
};

struct GgufTensor {
  std::string_view name;
  device::TensorView view;  // shape in PyTorch order; read-only memory, never write through it
  int64_t bytes = 0;
  uint64_t offset = 0;  // from the start of the tensor data of its part
};

// Immutable and safe to share; the views live as long as the file object (moving it is fine).
class GgufFile {
 public:
  // kInvalid: damaged or hostile. kUnsupported: big-endian, version 1, nested arrays. The message
  // says where; param is the key or tensor.
  //
  // A model split into NAME-00001-of-0000N.gguf and so on is opened as a whole, whichever part is
  // named: metadata are the first part's, tensors those of all. kNotFound names a missing part.
  static Result<GgufFile> open(const std::filesystem::path& path);

  // The same over memory that must outlive the result; `name` is for messages. Tensor data are
  // aligned as in the file only if `bytes` is itself aligned.
  static Result<GgufFile> parse(std::span<const std::byte> bytes, std::string name);

  uint32_t version() const noexcept { return version_; }
  uint32_t alignment() const noexcept { return alignment_; }
  uint64_t file_bytes() const noexcept;  // of all parts
  size_t parts() const noexcept { return 1 + others_.size(); }
  const std::string& name() const noexcept { return name_; }

  std::span<const GgufEntry> metadata() const noexcept { return entries_; }  // file order
  std::span<const GgufTensor> tensors() const noexcept { return tensors_; }  // file order
  // Tensors of types that this build does not know, and empty ones. Not in tensors().
  std::span<const UnreadTensor> unread() const noexcept { return unread_; }

  const GgufValue* find(std::string_view key) const noexcept;
  const GgufTensor* find_tensor(std::string_view name) const noexcept;
  Result<device::TensorView> tensor(std::string_view name) const;  // kNotFound names it

  // For who has copied what it needs of the tensors: see MappedFile. Nothing becomes invalid.
  void release_pages() const noexcept;

  // See GgufValue::as for the types. A wrong type is an error in both.
  template <class T>
  Result<T> required(std::string_view key) const {
    const GgufValue* value = find(key);
    if (value == nullptr) return missing_key(key);
    return value->as<T>(key);
  }
  template <class T>
  Result<std::optional<T>> optional(std::string_view key) const {
    const GgufValue* value = find(key);
    if (value == nullptr) return std::optional<T>{};
    O3_ASSIGN(T found, value->as<T>(key));
    return std::optional<T>(std::move(found));
  }

 private:
  friend class GgufParser;
  GgufFile() = default;
  Error missing_key(std::string_view key) const;

  static Result<GgufFile> open_one(const std::filesystem::path& path);
  static Result<GgufFile> open_split(const std::filesystem::path& path, uint32_t count);
  Result<void> take_part(GgufFile part);
  Result<void> check_split() const;

  std::vector<GgufFile> others_;   // parts of a split model behind the first, which own their maps
  std::optional<MappedFile> map_;  // empty when parse() was given memory
  std::span<const std::byte> bytes_;
  std::string name_;
  uint32_t version_ = 0;
  uint32_t alignment_ = 32;
  std::vector<GgufEntry> entries_;
  std::vector<GgufTensor> tensors_;
  std::vector<UnreadTensor> unread_;
  std::vector<uint32_t> entries_by_key_;   // indices, sorted
  std::vector<uint32_t> tensors_by_name_;  // indices, sorted
};

}  // namespace o3::artifact
