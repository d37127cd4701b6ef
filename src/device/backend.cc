// SPDX-License-Identifier: Apache-2.0
#include "device/backend.h"

#include <utility>

namespace o3::device {

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  if (this == &other) return *this;
  reset();
  owner_ = std::exchange(other.owner_, nullptr);
  data_ = std::exchange(other.data_, nullptr);
  bytes_ = std::exchange(other.bytes_, 0);
  tag_ = other.tag_;
  return *this;
}

void Buffer::reset() noexcept {
  if (owner_ == nullptr) return;
  owner_->allocated_[static_cast<size_t>(tag_)].fetch_sub(bytes_, std::memory_order_relaxed);
  owner_->free(data_, bytes_);
  owner_ = nullptr;
  data_ = nullptr;
  bytes_ = 0;
}

}  // namespace o3::device
