// SPDX-License-Identifier: Apache-2.0
// Files that appear whole or not at all.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "artifact/descriptor.h"
#include "base/result.h"

namespace o3::artifact {

enum class Overwrite : bool { kNo, kYes };

// Written under another name in the same directory (PATH.*.partial), synced, then renamed.
// Without commit() the destructor leaves nothing behind.
class OutputFile {
 public:
  // kConflict: PATH is there and may not be overwritten. Otherwise as os_error().
  static Result<OutputFile> create(const std::filesystem::path& path, Overwrite overwrite);

  OutputFile(OutputFile&&) = default;
  OutputFile& operator=(OutputFile&&) = delete;
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile();

  Result<void> write(std::span<const std::byte> bytes);
  Result<void> write(std::string_view text) { return write(std::as_bytes(std::span(text))); }
  uint64_t written() const noexcept { return written_; }

  Result<void> commit();

 private:
  OutputFile(std::filesystem::path path, std::string partial, Descriptor file, Overwrite overwrite)
      : path_(std::move(path)),
        partial_(std::move(partial)),
        file_(std::move(file)),
        overwrite_(overwrite) {}

  Result<void> flush();

  std::filesystem::path path_;
  std::string partial_;  // empty once renamed
  Descriptor file_;
  Overwrite overwrite_;
  std::string buffer_;
  uint64_t written_ = 0;
};

// A directory that appears whole or not at all: fill path(), then commit().
class OutputDirectory {
 public:
  static Result<OutputDirectory> create(const std::filesystem::path& path, Overwrite overwrite);

  OutputDirectory(OutputDirectory&&) = default;
  OutputDirectory& operator=(OutputDirectory&&) = delete;
  OutputDirectory(const OutputDirectory&) = delete;
  OutputDirectory& operator=(const OutputDirectory&) = delete;
  ~OutputDirectory();

  const std::filesystem::path& path() const noexcept { return partial_; }
  // What was there before is moved aside first and removed last.
  Result<void> commit();

 private:
  OutputDirectory(std::filesystem::path path, std::filesystem::path partial, Overwrite overwrite)
      : path_(std::move(path)), partial_(std::move(partial)), overwrite_(overwrite) {}

  std::filesystem::path path_;
  std::filesystem::path partial_;  // empty once renamed
  Overwrite overwrite_;
};

}  // namespace o3::artifact
