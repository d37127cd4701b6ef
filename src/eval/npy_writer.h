// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <utility>

#include "artifact/output_file.h"
#include "base/result.h"

namespace o3::eval {

// A float32 matrix in NumPy's format 1.0, row after row. A reader never sees half a file; dropped
// before finish(), nothing is left.
class NpyWriter {
 public:
  // Replaces a file of that name. Errors as artifact::OutputFile.
  static Result<NpyWriter> create(const std::filesystem::path& path, int64_t rows, int64_t cols);

  Result<void> append(std::span<const float> values) {  // whole rows
    return file_.write(std::as_bytes(values));
  }
  Result<void> finish() { return file_.commit(); }  // all rows have been appended

 private:
  explicit NpyWriter(artifact::OutputFile file) : file_(std::move(file)) {}

  artifact::OutputFile file_;
};

}  // namespace o3::eval
