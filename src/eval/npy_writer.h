// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "base/result.h"

namespace o3::eval {

// A float32 matrix in NumPy's format 1.0, row after row. Written as PATH.partial and renamed to
// PATH by finish(), so that a reader never sees half a file; dropped before, nothing is left.
class NpyWriter {
 public:
  static Result<NpyWriter> create(const std::filesystem::path& path, int64_t rows, int64_t cols);
  NpyWriter(NpyWriter&&) = default;
  NpyWriter& operator=(NpyWriter&&) = delete;
  NpyWriter(const NpyWriter&) = delete;
  NpyWriter& operator=(const NpyWriter&) = delete;
  ~NpyWriter();

  Result<void> append(std::span<const float> values);  // whole rows
  Result<void> finish();                               // all rows have been appended

 private:
  using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;
  NpyWriter(File file, std::filesystem::path path)
      : file_(std::move(file)), path_(std::move(path)) {}
  std::string partial() const { return path_.string() + ".partial"; }
  Error failed(const char* verb) const;

  File file_;
  std::filesystem::path path_;
};

}  // namespace o3::eval
