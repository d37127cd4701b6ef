// SPDX-License-Identifier: Apache-2.0
#include "artifact/gguf/gguf_value.h"

#include <array>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

namespace o3::artifact {
namespace {

struct TypeInfo {
  std::string_view name;
  size_t bytes;
};
constexpr std::array<TypeInfo, kGgufTypes> kTypes{{{"u8", 1},
                                                   {"i8", 1},
                                                   {"u16", 2},
                                                   {"i16", 2},
                                                   {"u32", 4},
                                                   {"i32", 4},
                                                   {"f32", 4},
                                                   {"bool", 1},
                                                   {"string", 0},
                                                   {"array", 0},
                                                   {"u64", 8},
                                                   {"i64", 8},
                                                   {"f64", 8}}};

template <class T>
T load(const std::byte* at) noexcept {
  T value{};
  std::memcpy(&value, at, sizeof value);
  return value;
}

template <class To, class From>
std::optional<To> narrowed(From value) noexcept {
  if constexpr (std::is_integral_v<From> && std::is_integral_v<To>) {
    if (!std::in_range<To>(value)) return std::nullopt;
    return static_cast<To>(value);
  } else if constexpr (std::is_floating_point_v<From> && std::is_floating_point_v<To>) {
    return static_cast<To>(value);
  } else {
    return std::nullopt;
  }
}

// One number of type `type` at `at`, as T; nothing if the kinds differ or the value does not fit.
template <class T>
std::optional<T> number(GgufType type, const std::byte* at) noexcept {
  switch (type) {
    case GgufType::kU8:
      return narrowed<T>(load<uint8_t>(at));
    case GgufType::kI8:
      return narrowed<T>(load<int8_t>(at));
    case GgufType::kU16:
      return narrowed<T>(load<uint16_t>(at));
    case GgufType::kI16:
      return narrowed<T>(load<int16_t>(at));
    case GgufType::kU32:
      return narrowed<T>(load<uint32_t>(at));
    case GgufType::kI32:
      return narrowed<T>(load<int32_t>(at));
    case GgufType::kU64:
      return narrowed<T>(load<uint64_t>(at));
    case GgufType::kI64:
      return narrowed<T>(load<int64_t>(at));
    case GgufType::kF32:
      return narrowed<T>(load<float>(at));
    case GgufType::kF64:
      return narrowed<T>(load<double>(at));
    case GgufType::kBool:
    case GgufType::kString:
    case GgufType::kArray:
      return std::nullopt;
  }
  return std::nullopt;
}

template <class T>
constexpr std::string_view wanted_name() {
  if constexpr (std::is_same_v<T, bool>) return "a bool";
  if constexpr (std::is_same_v<T, int32_t>) return "an integer of 32 bits";
  if constexpr (std::is_same_v<T, uint32_t>) return "a non-negative integer of 32 bits";
  if constexpr (std::is_same_v<T, int64_t>) return "an integer of 64 bits";
  if constexpr (std::is_same_v<T, uint64_t>) return "a non-negative integer";
  if constexpr (std::is_floating_point_v<T>) return "a floating-point number";
  return "a string";
}

Error mismatch(std::string_view key, std::string_view wanted, const std::string& found) {
  return invalid("metadata key " + std::string(key) + " must be " + std::string(wanted) +
                     ", but the file has " + found,
                 std::string(key));
}

template <class T>
struct Reader {
  static Result<T> read(const GgufValue& value, std::string_view key) {
    if constexpr (std::is_same_v<T, bool>) {
      if (value.type == GgufType::kBool) return value.data[0] != std::byte{0};
    } else if constexpr (std::is_arithmetic_v<T>) {
      if (const auto found = number<T>(value.type, value.data.data())) return *found;
    } else {
      if (value.type == GgufType::kString) {
        return T(reinterpret_cast<const char*>(value.data.data()), value.data.size());
      }
    }
    return mismatch(key, wanted_name<T>(), value.type_name() + " (wrong type or out of range)");
  }
};

template <>
struct Reader<StringArray> {
  static Result<StringArray> read(const GgufValue& value, std::string_view key) {
    if (value.type == GgufType::kArray && value.element == GgufType::kString) {
      return StringArray(value.data, value.count);
    }
    return mismatch(key, "an array of strings", value.type_name());
  }
};

template <class T>
struct Reader<std::vector<T>> {
  static Result<std::vector<T>> read(const GgufValue& value, std::string_view key) {
    const std::string wanted = "an array whose elements are each " + std::string(wanted_name<T>());
    if (value.type != GgufType::kArray) return mismatch(key, wanted, value.type_name());
    std::vector<T> out;
    // An array of the wrong kind is refused at its first element, before anything is allocated.
    const size_t step = gguf_type_bytes(value.element);
    for (uint64_t i = 0; i < value.count; ++i) {
      const auto found = number<T>(value.element, value.data.data() + i * step);
      if (!found) {
        return mismatch(key, wanted, value.type_name() + " (element " + std::to_string(i) + ")");
      }
      if (i == 0) out.reserve(value.count);
      out.push_back(*found);
    }
    return out;
  }
};

}  // namespace

std::string_view gguf_type_name(GgufType type) noexcept {
  const auto index = static_cast<uint32_t>(type);
  return index < kGgufTypes ? kTypes[index].name : "unknown";
}

size_t gguf_type_bytes(GgufType type) noexcept {
  const auto index = static_cast<uint32_t>(type);
  return index < kGgufTypes ? kTypes[index].bytes : 0;
}

std::string GgufValue::type_name() const {
  if (type != GgufType::kArray) return std::string(gguf_type_name(type));
  return "array of " + std::string(gguf_type_name(element));
}

template <class T>
Result<T> GgufValue::as(std::string_view key) const {
  return Reader<T>::read(*this, key);
}

template Result<bool> GgufValue::as(std::string_view) const;
template Result<int32_t> GgufValue::as(std::string_view) const;
template Result<uint32_t> GgufValue::as(std::string_view) const;
template Result<int64_t> GgufValue::as(std::string_view) const;
template Result<uint64_t> GgufValue::as(std::string_view) const;
template Result<float> GgufValue::as(std::string_view) const;
template Result<double> GgufValue::as(std::string_view) const;
template Result<std::string_view> GgufValue::as(std::string_view) const;
template Result<std::string> GgufValue::as(std::string_view) const;
template Result<StringArray> GgufValue::as(std::string_view) const;
template Result<std::vector<int32_t>> GgufValue::as(std::string_view) const;
template Result<std::vector<uint32_t>> GgufValue::as(std::string_view) const;
template Result<std::vector<int64_t>> GgufValue::as(std::string_view) const;
template Result<std::vector<float>> GgufValue::as(std::string_view) const;

}  // namespace o3::artifact
