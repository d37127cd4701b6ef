// SPDX-License-Identifier: Apache-2.0
// One metadata value of a GGUF file: a typed window into the mapped file, nothing copied.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace o3::artifact {

// Value types of the GGUF specification, with their numbers in the file.
enum class GgufType : uint32_t {
  kU8 = 0,
  kI8 = 1,
  kU16 = 2,
  kI16 = 3,
  kU32 = 4,
  kI32 = 5,
  kF32 = 6,
  kBool = 7,
  kString = 8,
  kArray = 9,
  kU64 = 10,
  kI64 = 11,
  kF64 = 12,
};
inline constexpr uint32_t kGgufTypes = 13;

std::string_view gguf_type_name(GgufType type) noexcept;  // "u32", "string", ...
size_t gguf_type_bytes(GgufType type) noexcept;           // 0 for string and array

// A string array as it lies in the file (u64 length, bytes, ...), validated when the file was
// opened. Forward iteration only; the views point into the file.
class StringArray {
 public:
  class Iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = std::string_view;
    using difference_type = std::ptrdiff_t;
    using pointer = const std::string_view*;
    using reference = std::string_view;

    Iterator() = default;
    explicit Iterator(const std::byte* at) noexcept : at_(at) {}
    std::string_view operator*() const noexcept {
      return {reinterpret_cast<const char*>(at_) + sizeof(uint64_t), length()};
    }
    Iterator& operator++() noexcept {
      at_ += sizeof(uint64_t) + length();
      return *this;
    }
    Iterator operator++(int) noexcept {
      const Iterator before = *this;
      ++*this;
      return before;
    }
    bool operator==(const Iterator&) const = default;

   private:
    uint64_t length() const noexcept {
      uint64_t bytes = 0;
      std::memcpy(&bytes, at_, sizeof bytes);
      return bytes;
    }
    const std::byte* at_ = nullptr;
  };

  StringArray() = default;
  StringArray(std::span<const std::byte> data, uint64_t count) noexcept
      : data_(data), count_(count) {}
  uint64_t size() const noexcept { return count_; }
  Iterator begin() const noexcept { return Iterator(data_.data()); }
  Iterator end() const noexcept { return Iterator(data_.data() + data_.size()); }

 private:
  std::span<const std::byte> data_;
  uint64_t count_ = 0;
};

struct GgufValue {
  GgufType type = GgufType::kU8;
  GgufType element = GgufType::kU8;  // of an array
  uint64_t count = 0;                // elements of an array
  std::span<const std::byte> data;   // scalar bytes, characters, or the array's payload

  // "u32", "array of string"
  std::string type_name() const;

  // The value as T. Integers convert into any integer type that can hold the value, f32 and f64
  // into float and double; nothing else converts. kInvalid names `key` and the type found.
  // T: bool, (u)int32_t, (u)int64_t, float, double, std::string_view, std::string, StringArray, and
  // std::vector of int32_t, uint32_t, int64_t, float (array elements convert as scalars do).
  template <class T>
  Result<T> as(std::string_view key) const;
};

}  // namespace o3::artifact
