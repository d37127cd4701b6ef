// SPDX-License-Identifier: Apache-2.0
// Internal to GgufFile: reads the structure from untrusted bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "artifact/gguf/gguf_file.h"
#include "base/printable.h"
#include "base/result.h"

namespace o3::artifact {

class GgufParser {
 public:
  explicit GgufParser(GgufFile& file) : file_(file), bytes_(file.bytes_) {}
  Result<void> run();
  // Sorts the file's tensors by name and refuses duplicates, also of unread ones.
  Result<void> index_tensors();

 private:
  size_t left() const noexcept { return bytes_.size() - at_; }
  Result<std::span<const std::byte>> take(uint64_t count, std::string_view what);
  template <class T>
  Result<T> read(std::string_view what) {
    O3_ASSIGN(const std::span<const std::byte> raw, take(sizeof(T), what));
    T value{};
    std::memcpy(&value, raw.data(), sizeof value);
    return value;
  }
  Result<std::string_view> read_string(uint64_t limit, std::string_view what);

  Result<void> read_version();
  Result<void> read_entry();
  Result<GgufType> read_type(std::string_view key);
  Result<GgufValue> read_value(GgufType type, std::string_view key);
  Result<GgufValue> read_array(std::string_view key);
  Result<void> read_alignment();
  Result<void> read_tensor();
  Result<bool> read_shape(GgufTensor& tensor);
  Result<void> set_dtype(GgufTensor& tensor, device::DType dtype);
  Result<void> put_aside(const GgufTensor& tensor, uint32_t number, std::string problem);
  Result<void> place_tensors();
  Result<void> index_keys();
  Result<void> check_overlap() const;

  Error damaged(std::string message, std::string_view param = {}) const;
  Error beyond_us(std::string message, std::string_view param = {}) const;

  GgufFile& file_;
  std::span<const std::byte> bytes_;
  size_t at_ = 0;
};

}  // namespace o3::artifact
