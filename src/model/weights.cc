// SPDX-License-Identifier: Apache-2.0
#include "model/weights.h"

#include <algorithm>
#include <cstdint>

#include "base/printable.h"
#include "kernels/elementwise.h"

namespace o3::model {
namespace {

using device::DType;
using device::TensorView;

template <class Range>
std::string shape_text(const Range& shape) {
  std::string text = "[";
  for (const int64_t extent : shape) {
    if (text.size() > 1) text += ", ";
    text += std::to_string(extent);
  }
  return text + "]";
}

}  // namespace

bool is_weightless(const TensorView& view) noexcept {
  return view.dtype == DType::kI8 || view.dtype == DType::kI32;
}

TensorView WeightBinder::bind(std::string_view name, std::initializer_list<int64_t> shape) {
  bound_.emplace(name);
  const TensorView* tensor = file_.find_tensor(name);
  if (tensor == nullptr) {
    const artifact::UnreadTensor* unread = file_.find_unread(name);
    problems_.push_back(
        file_.source_name(name) + " " +
        (unread == nullptr ? "is missing (expected " + shape_text(shape) + ")" : unread->problem));
    return {};
  }
  const TensorView& view = *tensor;
  const std::span<const int64_t> found(view.shape.data(), view.rank);
  if (!std::equal(found.begin(), found.end(), shape.begin(), shape.end())) {
    problems_.push_back(file_.source_name(name) + " has shape " + shape_text(found) +
                        ", expected " + shape_text(shape));
    return {};
  }
  return view;
}

TensorView WeightBinder::matrix(std::string_view name, int64_t rows, int64_t cols) {
  return bind(name, {rows, cols});
}

TensorView WeightBinder::vector(std::string_view name, int64_t elements) {
  const TensorView view = bind(name, {elements});
  const bool plain =
      view.dtype == DType::kF32 || view.dtype == DType::kF16 || view.dtype == DType::kBF16;
  if (view.data != nullptr && !plain) {
    problems_.push_back(file_.source_name(name) + " has type " +
                        std::string(device::traits(view.dtype).name) +
                        ", expected F32, F16 or BF16");
    return {};
  }
  return view;
}

Result<void> WeightBinder::finish() const {
  if (!problems_.empty()) {
    return invalid(file_.name() +
                   " does not hold the tensors its metadata promise: " + list_of(problems_, "; "));
  }
  std::vector<std::string> unknown;
  for (const std::string_view name : file_.tensor_names()) {
    if (bound_.contains(name) || is_weightless(*file_.find_tensor(name))) continue;
    unknown.push_back(printable(file_.source_name(name)));
  }
  for (const artifact::UnreadTensor& tensor : file_.unread()) {
    if (!tensor.weightless) unknown.push_back(printable(file_.source_name(tensor.name)));
  }
  if (unknown.empty()) return {};
  return unsupported(file_.name() + " holds tensors that this build has no use for: " +
                     list_of(unknown, "; ") + "; a model without them would work");
}

Result<device::Buffer> load_vector(TensorView vector, double offset, device::Backend& backend) {
  std::vector<float> values(static_cast<size_t>(vector.cols()));
  kernels::dequantize_row(vector.dtype, vector.data, values.data(), vector.cols());
  for (float& value : values) value += static_cast<float>(offset);
  const size_t bytes = values.size() * sizeof(float);
  O3_ASSIGN(device::Buffer buffer, backend.allocate(bytes, device::MemTag::kWeights));
  O3_TRY(backend.copy_from_host(buffer, 0, values.data(), bytes));
  return buffer;
}

}  // namespace o3::model
