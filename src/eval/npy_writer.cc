// SPDX-License-Identifier: Apache-2.0
#include "eval/npy_writer.h"

#include <bit>
#include <string>

namespace o3::eval {
namespace {

static_assert(std::endian::native == std::endian::little, "the header below says '<f4'");

// Magic, version 1.0, u16 length, and a dictionary padded so that the data start at a multiple of
// 64 (numpy/lib/format.py).
std::string header(int64_t rows, int64_t cols) {
  std::string text = "{'descr': '<f4', 'fortran_order': False, 'shape': (" + std::to_string(rows) +
                     ", " + std::to_string(cols) + "), }";
  constexpr size_t kPrefix = 10;
  text.append(63 - (kPrefix + text.size()) % 64, ' ').append(1, '\n');
  std::string head("\x93NUMPY\x01\x00", 8);
  head.push_back(static_cast<char>(text.size() & 0xff));
  head.push_back(static_cast<char>(text.size() >> 8));
  return head + text;
}

}  // namespace

Result<NpyWriter> NpyWriter::create(const std::filesystem::path& path, int64_t rows, int64_t cols) {
  O3_ASSIGN(artifact::OutputFile file,
            artifact::OutputFile::create(path, artifact::Overwrite::kYes));
  O3_TRY(file.write(header(rows, cols)));
  return NpyWriter(std::move(file));
}

}  // namespace o3::eval
