// SPDX-License-Identifier: Apache-2.0
// Builds a GGUF file (version 3, little-endian). For tests and converters: the caller supplies
// sensible input, nothing is checked against a specification here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "artifact/gguf/gguf_value.h"
#include "artifact/output_file.h"
#include "artifact/row_tensor.h"
#include "base/result.h"
#include "device/dtype.h"

namespace o3::artifact {

class GgufWriter {
 public:
  explicit GgufWriter(uint32_t alignment = 32) : alignment_(alignment) {}

  void add(std::string_view key, std::string_view value);
  // bool and the fixed-size number types.
  template <class T>
  void add_scalar(std::string_view key, T value) {
    begin_entry(key, type_of<T>());
    put(value);
  }
  template <class T>
  void add_array(std::string_view key, std::span<const T> values) {
    begin_array(key, type_of<T>(), values.size());
    for (const T& value : values) put(value);
  }
  void add_array(std::string_view key, std::span<const std::string> values);

  // shape in PyTorch order; `data` is copied by build(), so it must live until then.
  void add_tensor(std::string_view name, device::DType dtype, std::span<const int64_t> shape,
                  std::span<const std::byte> data);

  // A tensor that write() makes row by row; build() does not take such.
  void add_tensor(RowTensor tensor);

  std::vector<std::byte> build() const;
  // A reader never sees half a file (OutputFile).
  Result<void> write(const std::filesystem::path& path, Overwrite overwrite = Overwrite::kYes,
                     const KeepGoing& keep_going = {}) const;

 private:
  struct Tensor {
    std::string name;
    device::DType dtype;
    std::vector<int64_t> shape;
    std::span<const std::byte> data;
    RowTensor rows{};  // instead of data
    uint64_t bytes() const {
      return rows.row ? static_cast<uint64_t>(rows.bytes()) : uint64_t{data.size()};
    }
  };

  std::vector<std::byte> head() const;  // all before the tensors' data

  template <class T>
  static constexpr GgufType type_of();
  template <class T>
  void put(const T& value) {
    put_raw(&value, sizeof value);
  }
  void put_raw(const void* data, size_t bytes);
  void put_string(std::string_view text);
  void begin_entry(std::string_view key, GgufType type);
  void begin_array(std::string_view key, GgufType element, uint64_t count);

  uint32_t alignment_;
  uint64_t count_ = 0;
  std::vector<std::byte> entries_;
  std::vector<Tensor> tensors_;
};

template <class T>
constexpr GgufType GgufWriter::type_of() {
  if constexpr (std::is_same_v<T, bool>) return GgufType::kBool;
  if constexpr (std::is_same_v<T, uint8_t>) return GgufType::kU8;
  if constexpr (std::is_same_v<T, int8_t>) return GgufType::kI8;
  if constexpr (std::is_same_v<T, uint16_t>) return GgufType::kU16;
  if constexpr (std::is_same_v<T, int16_t>) return GgufType::kI16;
  if constexpr (std::is_same_v<T, uint32_t>) return GgufType::kU32;
  if constexpr (std::is_same_v<T, int32_t>) return GgufType::kI32;
  if constexpr (std::is_same_v<T, uint64_t>) return GgufType::kU64;
  if constexpr (std::is_same_v<T, int64_t>) return GgufType::kI64;
  if constexpr (std::is_same_v<T, float>) return GgufType::kF32;
  if constexpr (std::is_same_v<T, double>) return GgufType::kF64;
}

}  // namespace o3::artifact
