// SPDX-License-Identifier: Apache-2.0
#include "model/weights.h"

#include <algorithm>
#include <cstdint>

#include "base/printable.h"

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

TensorView WeightBinder::bind(std::string_view name, std::initializer_list<int64_t> shape) {
  bound_.emplace(name);
  const artifact::GgufTensor* tensor = file_.find_tensor(name);
  if (tensor == nullptr) {
    problems_.push_back(std::string(name) + " is missing (expected " + shape_text(shape) + ")");
    return {};
  }
  const TensorView& view = tensor->view;
  const std::span<const int64_t> found(view.shape.data(), view.rank);
  if (!std::equal(found.begin(), found.end(), shape.begin(), shape.end())) {
    problems_.push_back(std::string(name) + " has shape " + shape_text(found) + ", expected " +
                        shape_text(shape));
    return {};
  }
  return view;
}

TensorView WeightBinder::matrix(std::string_view name, int64_t rows, int64_t cols) {
  return bind(name, {rows, cols});
}

TensorView WeightBinder::vector(std::string_view name, int64_t elements) {
  const TensorView view = bind(name, {elements});
  if (view.data != nullptr && view.dtype != DType::kF32) {
    problems_.push_back(std::string(name) + " has type " +
                        std::string(device::traits(view.dtype).name) + ", expected F32");
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
  for (const artifact::GgufTensor& tensor : file_.tensors()) {
    if (!bound_.contains(tensor.name)) unknown.push_back(printable(tensor.name));
  }
  if (unknown.empty()) return {};
  return unsupported(file_.name() + " holds tensors that this build has no use for: " +
                     list_of(unknown, "; ") + "; a model without them would work");
}

}  // namespace o3::model
