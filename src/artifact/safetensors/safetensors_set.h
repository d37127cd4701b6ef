// SPDX-License-Identifier: Apache-2.0
// All weights of a Hugging Face directory: model.safetensors, or the shards that
// model.safetensors.index.json lists.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>
#include <vector>

#include "artifact/safetensors/safetensors_file.h"
#include "base/result.h"

namespace o3::artifact {

// Immutable and safe to share; the views live as long as the set (moving it is fine).
class SafetensorsSet {
 public:
  static constexpr size_t kMaxFiles = 1000;
  static constexpr size_t kMaxIndexBytes = size_t{64} << 20U;

  // A shard is a plain file name, in this directory; what a file system's links make of it is the
  // operator's (download caches are made of links). Every tensor must lie in the shard that the
  // index names for it, and no other may be there. kNotFound: no weights, or a missing shard.
  static Result<SafetensorsSet> open(const std::filesystem::path& directory);

  const std::vector<const SafeTensor*>& tensors() const noexcept { return tensors_; }  // by name
  const SafeTensor* find(std::string_view name) const noexcept;
  // Of all files; see SafetensorsFile::unread().
  const std::vector<const UnreadTensor*>& unread() const noexcept { return unread_; }
  size_t files() const noexcept { return files_.size(); }
  uint64_t file_bytes() const noexcept;
  void release_pages() const noexcept;  // see SafetensorsFile

 private:
  Result<void> open_shards(const std::filesystem::path& directory);
  void collect();

  std::vector<SafetensorsFile> files_;
  std::vector<const SafeTensor*> tensors_;  // sorted by name
  std::vector<const UnreadTensor*> unread_;
};

}  // namespace o3::artifact
