// SPDX-License-Identifier: Apache-2.0
#include "eval/npy_writer.h"

#include <unistd.h>

#include <bit>
#include <cerrno>
#include <system_error>

#include "base/check.h"

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
  NpyWriter writer(File(nullptr, &std::fclose), path);
  writer.file_.reset(std::fopen(writer.partial().c_str(), "wbe"));
  if (writer.file_ == nullptr) return writer.failed("create");
  const std::string head = header(rows, cols);
  if (std::fwrite(head.data(), 1, head.size(), writer.file_.get()) != head.size()) {
    return writer.failed("write");
  }
  return writer;
}

NpyWriter::~NpyWriter() {
  if (file_ != nullptr) std::remove(partial().c_str());
}

Error NpyWriter::failed(const char* verb) const {
  return unavailable("cannot " + std::string(verb) + " " + partial() + ": " +
                     std::generic_category().message(errno));
}

Result<void> NpyWriter::append(std::span<const float> values) {
  if (std::fwrite(values.data(), sizeof(float), values.size(), file_.get()) != values.size()) {
    return failed("write");
  }
  return {};
}

Result<void> NpyWriter::finish() {
  if (std::fflush(file_.get()) != 0 || ::fsync(::fileno(file_.get())) != 0) return failed("write");
  if (std::rename(partial().c_str(), path_.c_str()) != 0) return failed("rename");
  if (std::fclose(file_.release()) != 0) return failed("close");
  return {};
}

}  // namespace o3::eval
