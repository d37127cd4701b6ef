// SPDX-License-Identifier: Apache-2.0
#include "artifact/safetensors/safetensors_file.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "artifact/safetensors/header.h"
#include "base/bytes.h"
#include "base/printable.h"

namespace o3::artifact {
namespace {

using device::DType;
using device::TensorView;

struct TypeName {
  std::string_view name;
  DType dtype;
};
constexpr std::array kTypes{TypeName{"F32", DType::kF32}, TypeName{"F16", DType::kF16},
                            TypeName{"BF16", DType::kBF16}};

Error in_tensor(const std::string& file, const std::string& name, const std::string& problem) {
  return invalid(file + ": tensor " + printable(name) + " " + problem, printable(name));
}

}  // namespace

class SafetensorsParser {
 public:
  SafetensorsParser(std::span<const std::byte> bytes, std::string name) {
    file_.bytes_ = bytes;
    file_.name_ = std::move(name);
  }

  Result<SafetensorsFile> run() {
    O3_ASSIGN(const std::string_view header, find_header());
    O3_ASSIGN(std::vector<HeaderTensor> found, read_header(header, file_.name_));
    O3_TRY(check_coverage(found));
    for (HeaderTensor& tensor : found) O3_TRY(add(std::move(tensor)));
    O3_TRY(sort());
    return std::move(file_);
  }

 private:
  Result<std::string_view> find_header() {
    uint64_t length = 0;
    if (file_.bytes_.size() < sizeof length)
      return invalid(file_.name_ + " is shorter than 8 bytes");
    std::memcpy(&length, file_.bytes_.data(), sizeof length);
    const uint64_t left = file_.bytes_.size() - sizeof length;
    if (length > left || length > SafetensorsFile::kMaxHeaderBytes) {
      return invalid(file_.name_ + " announces a header of " + std::to_string(length) + " bytes; " +
                     std::to_string(left) + " follow, and 100 MiB are the most");
    }
    data_ = file_.bytes_.subspan(sizeof length + static_cast<size_t>(length));
    return std::string_view(reinterpret_cast<const char*>(file_.bytes_.data()) + sizeof length,
                            static_cast<size_t>(length));
  }

  Result<void> sort() {
    const auto by_name = [](const auto& a, const auto& b) { return a.name < b.name; };
    std::sort(file_.tensors_.begin(), file_.tensors_.end(), by_name);
    std::sort(file_.unread_.begin(), file_.unread_.end(), by_name);
    std::vector<std::string_view> names;
    names.reserve(file_.tensors_.size() + file_.unread_.size());
    for (const SafeTensor& tensor : file_.tensors_) names.push_back(tensor.name);
    for (const UnreadTensor& tensor : file_.unread_) names.push_back(tensor.name);
    std::sort(names.begin(), names.end());
    const auto twice = std::adjacent_find(names.begin(), names.end());
    if (twice == names.end()) return {};
    return in_tensor(file_.name_, std::string(*twice), "is there twice");
  }

  // The format allows neither overlaps nor holes, so that no byte can hide or be read twice.
  Result<void> check_coverage(std::vector<HeaderTensor>& tensors) const {
    std::sort(tensors.begin(), tensors.end(), [](const HeaderTensor& a, const HeaderTensor& b) {
      return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
    });
    uint64_t at = 0;
    for (const HeaderTensor& tensor : tensors) {
      if (tensor.begin != at || tensor.end < tensor.begin || tensor.end > data_.size()) {
        return in_tensor(file_.name_, tensor.name,
                         "lies at " + std::to_string(tensor.begin) + " to " +
                             std::to_string(tensor.end) + "; it must begin at " +
                             std::to_string(at) + " and end within the " +
                             std::to_string(data_.size()) + " bytes of data");
      }
      at = tensor.end;
    }
    if (at == data_.size()) return {};
    return invalid(file_.name_ + " has " + std::to_string(data_.size() - at) +
                   " bytes behind its last tensor");
  }

  Result<void> add(HeaderTensor&& from) {
    const auto type = std::find_if(kTypes.begin(), kTypes.end(),
                                   [&](const TypeName& row) { return row.name == from.type; });
    O3_ASSIGN(const uint64_t elements, count(from));
    if (elements == 0) {
      if (from.begin == from.end) return put_aside(std::move(from), "is empty");
      return in_tensor(file_.name_, from.name, "has bytes but no elements");
    }
    if (type == kTypes.end()) {
      const std::string problem =
          "has type " + printable(from.type) + "; F32, F16 and BF16 would work";
      return put_aside(std::move(from), problem);
    }
    if (from.shape.size() > 4) {
      return put_aside(std::move(from), "has more than 4 dimensions; up to 4 would work");
    }
    const auto width = static_cast<uint64_t>(device::row_bytes(type->dtype, 1));
    if (checked_mul(elements, width) != from.end - from.begin) {
      return in_tensor(
          file_.name_, from.name,
          "has a shape that does not fit its " + std::to_string(from.end - from.begin) + " bytes");
    }
    SafeTensor tensor;
    tensor.name = std::move(from.name);
    tensor.bytes = static_cast<int64_t>(from.end - from.begin);
    tensor.view = make_view(from, type->dtype);
    file_.tensors_.push_back(std::move(tensor));
    return {};
  }

  Result<void> put_aside(HeaderTensor&& from, const std::string& problem) {
    constexpr std::array<std::string_view, 9> kWhole = {"BOOL", "U8",  "I8",  "U16", "I16",
                                                        "U32",  "I32", "U64", "I64"};
    UnreadTensor unread;
    unread.weightless = from.begin == from.end ||
                        std::find(kWhole.begin(), kWhole.end(), from.type) != kWhole.end();
    unread.name = std::move(from.name);
    unread.type = printable(from.type);
    unread.shape.assign(from.shape.begin(), from.shape.end());
    unread.problem = problem;
    file_.unread_.push_back(std::move(unread));
    return {};
  }

  // 0 for an empty tensor.
  Result<uint64_t> count(const HeaderTensor& tensor) const {
    uint64_t elements = 1;
    bool empty = false;
    for (const uint64_t extent : tensor.shape) {
      empty = empty || extent == 0;
      const auto product = checked_mul(elements, std::max(extent, uint64_t{1}));
      if (!product.has_value() || *product > INT64_MAX / 8) {
        return in_tensor(file_.name_, tensor.name, "has a shape beyond all bounds");
      }
      elements = *product;
    }
    return empty ? 0 : elements;
  }

  TensorView make_view(const HeaderTensor& from, DType dtype) const {
    TensorView view;
    // Views are read-only by contract; see SafeTensor.
    view.data = const_cast<std::byte*>(data_.data()) + from.begin;
    view.dtype = dtype;
    view.rank = static_cast<uint8_t>(from.shape.size());
    for (size_t axis = 0; axis < from.shape.size(); ++axis) {
      view.shape.at(axis) = static_cast<int64_t>(from.shape[axis]);
    }
    view.row_stride = device::row_bytes(dtype, view.cols());
    return view;
  }

  SafetensorsFile file_;
  std::span<const std::byte> data_;
};

Result<SafetensorsFile> SafetensorsFile::parse(std::span<const std::byte> bytes, std::string name) {
  return SafetensorsParser(bytes, std::move(name)).run();
}

Result<SafetensorsFile> SafetensorsFile::open(const std::filesystem::path& path) {
  O3_ASSIGN(MappedFile map, MappedFile::open(path));
  O3_ASSIGN(SafetensorsFile file, parse(map.bytes(), path.string()));
  file.map_ = std::move(map);
  return file;
}

const SafeTensor* SafetensorsFile::find(std::string_view name) const noexcept {
  const auto at = std::lower_bound(
      tensors_.begin(), tensors_.end(), name,
      [](const SafeTensor& tensor, std::string_view wanted) { return tensor.name < wanted; });
  return at != tensors_.end() && at->name == name ? &*at : nullptr;
}

}  // namespace o3::artifact
