// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <utility>

#include "base/result.h"

namespace o3::artifact {

// Whether a file or directory that need not be there is there. A link that leads nowhere is an
// error that says where to, and so is a directory that may not be looked into: neither is the same
// as absent.
Result<bool> is_there(const std::filesystem::path& path);

// A whole regular file mapped read-only; unmapped by the destructor. Pages become resident only
// when read, and the kernel may drop them again. The size is taken once, at open: a file that
// another process truncates afterwards raises SIGBUS, so model files are replaced by rename, never
// rewritten in place.
class MappedFile {
 public:
  // kNotFound, kDenied (permissions), kInvalid (a directory, a device, an empty file).
  static Result<MappedFile> open(const std::filesystem::path& path);

  MappedFile(MappedFile&& other) noexcept { *this = std::move(other); }
  MappedFile& operator=(MappedFile&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  std::span<const std::byte> bytes() const noexcept { return {data_, size_}; }

  // Lets the system take back the pages read so far; reading them again brings them back.
  void release_pages() const noexcept;

 private:
  MappedFile(const std::byte* data, size_t size) noexcept : data_(data), size_(size) {}

  const std::byte* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace o3::artifact
