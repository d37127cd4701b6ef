// SPDX-License-Identifier: Apache-2.0
// Binding of a file's tensors to what a model expects of them.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "device/backend.h"
#include "device/tensor_view.h"
#include "model/checkpoint.h"

namespace o3::model {

// Collects every problem instead of stopping at the first, so that one attempt tells the whole
// story. Views point into the file's memory. Use: ask for all tensors, then finish(), and only then
// look into the views.
class WeightBinder {
 public:
  explicit WeightBinder(const Checkpoint& file) : file_(file) {}

  bool has(std::string_view name) const {
    return file_.find_tensor(name) != nullptr || file_.find_unread(name) != nullptr;
  }

  // [rows, cols] of any type; an empty view when it is missing or has another shape.
  device::TensorView matrix(std::string_view name, int64_t rows, int64_t cols);
  // [elements] of type F32, F16 or BF16.
  device::TensorView vector(std::string_view name, int64_t elements);

  // kInvalid lists every missing, misshapen or unreadable tensor; kUnsupported lists the tensors of
  // the file that nobody asked for (a bias, RoPE factors): leaving them out would change the model.
  // Those that cannot be weights (integers, truth values, empty ones) are nobody's loss.
  Result<void> finish() const;

 private:
  device::TensorView bind(std::string_view name, std::initializer_list<int64_t> shape);

  const Checkpoint& file_;
  std::set<std::string, std::less<>> bound_;
  std::vector<std::string> problems_;
};

// Whole numbers: a buffer that some library saved beside the weights.
bool is_weightless(const device::TensorView& view) noexcept;

// A bias or norm weight as F32 in the backend's memory, `offset` added to each element.
Result<device::Buffer> load_vector(device::TensorView vector, double offset,
                                   device::Backend& backend);

}  // namespace o3::model
