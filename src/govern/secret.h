// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <openssl/crypto.h>

#include <ostream>
#include <utility>

namespace o3::govern {

// A value that cannot be printed, formatted, logged, compared or copied by accident; reveal() is
// the one way to it, so that a search for that word finds every use. T is a contiguous container
// of bytes (std::string); its memory is wiped at the end.
template <class T>
class Secret {
 public:
  explicit Secret(T value) : value_(std::move(value)) {}
  Secret(Secret&& other) noexcept : value_(std::exchange(other.value_, T{})) {}
  Secret& operator=(Secret&& other) noexcept {
    if (this != &other) {
      wipe();
      value_ = std::exchange(other.value_, T{});
    }
    return *this;
  }
  Secret(const Secret&) = delete;
  Secret& operator=(const Secret&) = delete;
  ~Secret() { wipe(); }

  const T& reveal() const noexcept { return value_; }

  friend std::ostream& operator<<(std::ostream&, const Secret&) = delete;

 private:
  void wipe() noexcept {
    if (!value_.empty()) OPENSSL_cleanse(value_.data(), value_.size());
  }

  T value_;
};

}  // namespace o3::govern
