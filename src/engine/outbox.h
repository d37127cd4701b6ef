// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "engine/request.h"

namespace o3::engine {

// One step's deltas, grouped by sink. Engine thread only.
class Outbox {
 public:
  void add(const std::shared_ptr<DeltaSink>& sink, Delta delta);

  // Calls deliver() once for each sink with something to get; then the outbox is empty.
  void deliver() noexcept;

 private:
  struct Parcel {
    std::shared_ptr<DeltaSink> sink;  // keeps it alive until it has its last delta
    std::vector<Delta> deltas;
  };
  std::vector<Parcel> parcels_;
  std::unordered_map<const DeltaSink*, size_t> index_;  // into parcels_
};

}  // namespace o3::engine
