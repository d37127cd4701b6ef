// SPDX-License-Identifier: Apache-2.0
// Files that appear whole or not at all.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "artifact/descriptor.h"
#include "base/result.h"

namespace o3::artifact {

enum class Overwrite : bool { kNo, kYes };

// Asked from time to time while much is written; false: stop, which is told as kCancelled. Empty:
// always true.
using KeepGoing = std::function<bool()>;

// Written under another name in the same directory (PATH.*.partial), synced, then renamed.
// Without commit() the destructor leaves nothing behind; what a process that was killed has left
// of an earlier attempt is removed (partial files are locked while somebody writes them).
class OutputFile {
 public:
  // kConflict: PATH is there and may not be overwritten; kInvalid: it is a link, or no regular
  // file. Otherwise as os_error().
  static Result<OutputFile> create(const std::filesystem::path& path, Overwrite overwrite,
                                   KeepGoing keep_going = {});

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
  OutputFile(std::filesystem::path path, std::string partial, Descriptor file, Overwrite overwrite,
             KeepGoing keep_going)
      : path_(std::move(path)),
        partial_(std::move(partial)),
        file_(std::move(file)),
        overwrite_(overwrite),
        keep_going_(std::move(keep_going)) {}

  Result<void> flush();

  std::filesystem::path path_;
  std::string partial_;  // empty once renamed
  Descriptor file_;
  Overwrite overwrite_;
  KeepGoing keep_going_;
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
  // Changes places with what was there before, which is removed last.
  Result<void> commit();

 private:
  OutputDirectory(std::filesystem::path path, std::filesystem::path partial, Descriptor lock,
                  Overwrite overwrite)
      : path_(std::move(path)),
        partial_(std::move(partial)),
        lock_(std::move(lock)),
        overwrite_(overwrite) {}
  Result<void> replace();

  std::filesystem::path path_;
  std::filesystem::path partial_;  // empty once renamed
  Descriptor lock_;                // the directory itself
  Overwrite overwrite_;
};

}  // namespace o3::artifact
