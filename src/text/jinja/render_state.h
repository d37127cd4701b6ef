// SPDX-License-Identifier: Apache-2.0
// Everything that one render owns besides its variables: budget, objects, time.
#pragma once

#include <chrono>
#include <memory>
#include <utility>
#include <vector>

#include "text/jinja/budget.h"
#include "text/jinja/value.h"

namespace o3::text::jinja {

class RenderState {
 public:
  RenderState(uint64_t steps, std::chrono::seconds local_time)
      : budget_(steps), local_time_(local_time) {}

  Result<void> charge(uint64_t steps) { return budget_.charge(steps); }
  std::chrono::seconds local_time() const noexcept { return local_time_; }

  // An object that lives until the render ends.
  template <class T, class... Args>
  Result<T*> make_object(Args&&... args) {
    O3_TRY(charge(kObjectCost));
    auto object = std::make_unique<T>(std::forward<Args>(args)...);
    T* borrowed = object.get();
    objects_.push_back(std::move(object));
    return borrowed;
  }

 private:
  static constexpr uint64_t kObjectCost = 16;  // keeps what a render can hold under ~100 MB

  Budget budget_;
  std::chrono::seconds local_time_;
  std::vector<std::unique_ptr<Object>> objects_;
};

}  // namespace o3::text::jinja
